package sdk_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A recorder keeps the last form that was sent.
type recorder struct {
	http.RoundTripper
	last url.Values
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if r.last, err = url.ParseQuery(string(data)); err != nil {
		return nil, err
	}
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(strings.NewReader(string(data)))
	return r.RoundTripper.RoundTrip(again)
}

// TestForms: what the provider's client sends is what the SDK's clients would send. Whether the cloud takes it does
// not matter.
func TestForms(t *testing.T) {
	c := awstest.New(awstest.Options{})
	theirs, ours := &recorder{RoundTripper: c.Client()}, &recorder{RoundTripper: c.Client()}
	cfg := config(c)
	cfg.HTTPClient = &http.Client{Transport: theirs}
	x, y := ec2.NewFromConfig(cfg), elbv2.NewFromConfig(cfg)
	place, err := cloud.NewAccounts(cloud.Options{Base: ours, Own: credentials.NewStaticCredentialsProvider(awstest.AccessKey, awstest.SecretKey, "")}, nil).
		Place(t.Context(), &fleet.Cluster{}, &api.AWSClusterSpec{Region: c.Region(), IdentityRef: &api.IdentityReference{Kind: api.ControllerIdentity, Name: api.DefaultIdentity}})
	if err != nil {
		t.Fatal(err)
	}
	two := tags("vpc", "a", "1", "b", "2")
	for name, tc := range map[string]struct {
		theirs func(ctx context.Context) error
		ours   func(ctx context.Context) error
	}{
		"CreateVpc": {
			func(ctx context.Context) error {
				return errOf(x.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), TagSpecifications: two}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateVPC(ctx, cloud.VPCRequest{CIDR: "10.0.0.0/16", Tags: cloud.Tags{"a": "1", "b": "2"}}))
			},
		},
		"ModifyVpcAttribute": {
			func(ctx context.Context) error {
				return errOf(x.ModifyVpcAttribute(ctx, &ec2.ModifyVpcAttributeInput{VpcId: aws.String("vpc-1"), EnableDnsHostnames: &ec2types.AttributeBooleanValue{Value: aws.Bool(true)}}))
			},
			func(ctx context.Context) error { return place.NameHosts(ctx, "vpc-1") },
		},
		"CreateNatGateway": {
			func(ctx context.Context) error {
				return errOf(x.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{SubnetId: aws.String("subnet-1"), AllocationId: aws.String("eipalloc-1"), TagSpecifications: tags("natgateway", "a", "1")}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateNAT(ctx, "subnet-1", "eipalloc-1", cloud.Tags{"a": "1"}))
			},
		},
		"CreateRoute": {
			func(ctx context.Context) error {
				return errOf(x.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: aws.String("rtb-1"), DestinationCidrBlock: aws.String("0.0.0.0/0"), NatGatewayId: aws.String("nat-1")}))
			},
			func(ctx context.Context) error { return place.CreateRoute(ctx, "rtb-1", "0.0.0.0/0", "nat-1") },
		},
		"AuthorizeSecurityGroupIngress": {
			func(ctx context.Context) error {
				return errOf(x.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String("sg-1"), IpPermissions: []ec2types.IpPermission{
					{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(6443), ToPort: aws.Int32(6443), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0"), Description: aws.String("API")}}},
					{IpProtocol: aws.String("4"), FromPort: aws.Int32(-1), ToPort: aws.Int32(-1), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String("sg-2")}}},
					{IpProtocol: aws.String("udp"), FromPort: aws.Int32(1), ToPort: aws.Int32(2), Ipv6Ranges: []ec2types.Ipv6Range{{CidrIpv6: aws.String("::/0")}}},
				}}))
			},
			func(ctx context.Context) error {
				return place.Authorize(ctx, "sg-1", cloud.Rule{Protocol: "tcp", From: 6443, To: 6443, Source: "0.0.0.0/0", Description: "API"},
					cloud.Rule{Protocol: "4", From: -1, To: -1, Source: "sg-2"}, cloud.Rule{Protocol: "udp", From: 1, To: 2, Source: "::/0"})
			},
		},
		"CreateLoadBalancer": {
			func(ctx context.Context) error {
				return errOf(y.CreateLoadBalancer(ctx, &elbv2.CreateLoadBalancerInput{
					Name: aws.String("a"), Type: elbv2types.LoadBalancerTypeEnumNetwork, Scheme: "internal", Subnets: []string{"subnet-1", "subnet-2"}, SecurityGroups: []string{"sg-1"},
					Tags: []elbv2types.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
				}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateBalancer(ctx, cloud.BalancerRequest{Name: "a", Scheme: "internal", Subnets: []string{"subnet-1", "subnet-2"}, Groups: []string{"sg-1"}, Tags: cloud.Tags{"a": "1"}}))
			},
		},
		"CreateTargetGroup": {
			func(ctx context.Context) error {
				return errOf(y.CreateTargetGroup(ctx, &elbv2.CreateTargetGroupInput{
					Name: aws.String("a"), Protocol: "TCP", Port: aws.Int32(6443), VpcId: aws.String("vpc-1"), TargetType: "instance", HealthCheckProtocol: "HTTPS", HealthCheckPort: aws.String("6443"),
					HealthCheckPath: aws.String("/readyz"), HealthCheckIntervalSeconds: aws.Int32(10), HealthCheckTimeoutSeconds: aws.Int32(5), HealthyThresholdCount: aws.Int32(5), UnhealthyThresholdCount: aws.Int32(3),
				}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateTargetGroup(ctx, "a", "vpc-1", 6443, cloud.Health{Protocol: "HTTPS", Port: "6443", Path: "/readyz", Interval: 10, Timeout: 5, Healthy: 5, Unhealthy: 3}, nil))
			},
		},
		"RegisterTargets": {
			func(ctx context.Context) error {
				return errOf(y.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: aws.String("arn:1"), Targets: []elbv2types.TargetDescription{{Id: aws.String("i-1")}}}))
			},
			func(ctx context.Context) error { return place.SetTarget(ctx, "arn:1", "i-1", true) },
		},
		"RunInstances": {
			func(ctx context.Context) error {
				return errOf(x.RunInstances(ctx, &ec2.RunInstancesInput{
					ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ClientToken: aws.String("t"), UserData: aws.String("eA=="), KeyName: aws.String("ops"), SecurityGroupIds: []string{"sg-1", "sg-2"},
					SubnetId: aws.String("subnet-1"), IamInstanceProfile: &ec2types.IamInstanceProfileSpecification{Name: aws.String("nodes")}, TagSpecifications: tags("instance", "a", "1"),
					MetadataOptions: &ec2types.InstanceMetadataOptionsRequest{HttpTokens: "required", HttpPutResponseHopLimit: aws.Int32(2), HttpEndpoint: "enabled", HttpProtocolIpv6: "disabled", InstanceMetadataTags: "disabled"},
					BlockDeviceMappings: []ec2types.BlockDeviceMapping{{DeviceName: aws.String("/dev/sda1"), Ebs: &ec2types.EbsBlockDevice{
						DeleteOnTermination: aws.Bool(true), VolumeSize: aws.Int32(30), VolumeType: "gp3", Encrypted: aws.Bool(true), Iops: aws.Int32(3000), Throughput: aws.Int32(125), KmsKeyId: aws.String("k"),
					}}},
					InstanceMarketOptions:            &ec2types.InstanceMarketOptionsRequest{MarketType: "spot", SpotOptions: &ec2types.SpotMarketOptions{MaxPrice: aws.String("0.05"), SpotInstanceType: "one-time", InstanceInterruptionBehavior: "terminate"}},
					Placement:                        &ec2types.Placement{Tenancy: "host", HostId: aws.String("h-1"), Affinity: aws.String("host"), GroupName: aws.String("g"), PartitionNumber: aws.Int32(2)},
					PrivateDnsNameOptions:            &ec2types.PrivateDnsNameOptionsRequest{HostnameType: "ip-name", EnableResourceNameDnsARecord: aws.Bool(true), EnableResourceNameDnsAAAARecord: aws.Bool(false)},
					CpuOptions:                       &ec2types.CpuOptionsRequest{AmdSevSnp: "enabled"},
					CapacityReservationSpecification: &ec2types.CapacityReservationSpecification{CapacityReservationTarget: &ec2types.CapacityReservationTarget{CapacityReservationId: aws.String("cr-1")}},
				}))
			},
			func(ctx context.Context) error {
				return errOf(place.Run(ctx, cloud.Join(cloud.Tagged(cloud.Tags{"a": "1"}, "instance"), url.Values{
					"ImageId": {"ami-1"}, "ClientToken": {"t"}, "UserData": {"eA=="}, "KeyName": {"ops"}, "SecurityGroupId.1": {"sg-1"}, "SecurityGroupId.2": {"sg-2"}, "SubnetId": {"subnet-1"}, "IamInstanceProfile.Name": {"nodes"},
					"MetadataOptions.HttpTokens": {"required"}, "MetadataOptions.HttpPutResponseHopLimit": {"2"}, "MetadataOptions.HttpEndpoint": {"enabled"}, "MetadataOptions.HttpProtocolIpv6": {"disabled"}, "MetadataOptions.InstanceMetadataTags": {"disabled"},
					"BlockDeviceMapping.1.DeviceName": {"/dev/sda1"}, "BlockDeviceMapping.1.Ebs.DeleteOnTermination": {"true"}, "BlockDeviceMapping.1.Ebs.VolumeSize": {"30"}, "BlockDeviceMapping.1.Ebs.VolumeType": {"gp3"},
					"BlockDeviceMapping.1.Ebs.Encrypted": {"true"}, "BlockDeviceMapping.1.Ebs.Iops": {"3000"}, "BlockDeviceMapping.1.Ebs.Throughput": {"125"}, "BlockDeviceMapping.1.Ebs.KmsKeyId": {"k"},
					"InstanceMarketOptions.MarketType": {"spot"}, "InstanceMarketOptions.SpotOptions.MaxPrice": {"0.05"}, "InstanceMarketOptions.SpotOptions.SpotInstanceType": {"one-time"},
					"InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior": {"terminate"}, "Placement.Tenancy": {"host"}, "Placement.HostId": {"h-1"}, "Placement.Affinity": {"host"}, "Placement.GroupName": {"g"}, "Placement.PartitionNumber": {"2"},
					"PrivateDnsNameOptions.HostnameType": {"ip-name"}, "PrivateDnsNameOptions.EnableResourceNameDnsARecord": {"true"}, "PrivateDnsNameOptions.EnableResourceNameDnsAAAARecord": {"false"},
					"CpuOptions.AmdSevSnp": {"enabled"}, "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId": {"cr-1"},
				})))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _ = tc.theirs(t.Context()), tc.ours(t.Context())
			if len(theirs.last) < 3 || theirs.last.Get("Action") != name {
				t.Fatalf("the SDK sent %v", theirs.last)
			}
			if !ours.last.Has("ClientToken") {
				theirs.last.Del("ClientToken") // the SDK adds a random one
			}
			if d := cmp.Diff(flat(theirs.last), flat(ours.last)); d != "" {
				t.Errorf("-the SDK +the provider:\n%s", d)
			}
		})
	}
}

func flat(form url.Values) map[string]string {
	out := make(map[string]string)
	for k := range maps.Keys(form) {
		out[k] = form.Get(k)
	}
	return out
}
