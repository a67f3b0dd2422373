package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A recorder keeps what was sent.
type recorder struct {
	http.RoundTripper
	mu   sync.Mutex
	sent []map[string]any
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	data := []byte{}
	if req.Body != nil {
		var err error
		if data, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	one, err := told(req, data)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.sent = append(r.sent, one)
	r.mu.Unlock()
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(strings.NewReader(string(data)))
	return r.RoundTripper.RoundTrip(again)
}

// told returns what a request tells AWS, but for its signature.
func told(req *http.Request, data []byte) (map[string]any, error) {
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type")) // empty: it has none
	query := req.URL.Query()
	query.Del("x-id") // which S3 does not read
	out := map[string]any{"to": req.Method + " " + req.URL.Host + " /" + strings.Trim(req.URL.Path, "/") + " " + query.Encode()}
	for _, name := range []string{"X-Amz-Target", "X-Amz-Checksum-Sha256", "X-Amz-Expected-Bucket-Owner"} {
		if v := req.Header.Get(name); v != "" {
			out[name] = v
		}
	}
	switch kind {
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(data))
		if err != nil {
			return nil, err
		}
		for k := range form {
			out[k] = form.Get(k)
		}
	case "application/x-amz-json-1.1":
		var body map[string]any
		if err := json.Unmarshal(data, &body); err != nil {
			return nil, err
		}
		out["body"] = body
	default:
		out["body"] = string(data)
	}
	return out, nil
}

// of returns the first request for an action, or the last one; nil: there is none.
func (r *recorder) of(action string, last bool) (out map[string]any) {
	for _, one := range r.sent {
		target, _ := one["X-Amz-Target"].(string)
		if one["Action"] == action || strings.HasSuffix(target, "."+action) || one["Action"] == nil && target == "" {
			if out = one; !last {
				return out
			}
		}
	}
	return out
}

// placeOf returns the account in which c is, as the provider sees it.
func placeOf(t *testing.T, base http.RoundTripper, region string, ref api.IdentityReference, companions ...fleet.Object) *cloud.Place {
	t.Helper()
	accounts := cloud.NewAccounts(cloud.Options{Base: base, Own: credentials.NewStaticCredentialsProvider(awstest.AccessKey, awstest.SecretKey, "")}, nil)
	return must[*cloud.Place](t)(accounts.Place(t.Context(), &fleet.Cluster{Companions: companions}, &api.AWSClusterSpec{Region: region, IdentityRef: &ref}))
}

type call = func(ctx context.Context) error

// A pair is a request as the SDK sends it, and as the provider does.
type pair struct{ theirs, ours call }

// requests returns pairs in a cloud of their own, by the names of their actions, and what records them.
func requests(t *testing.T) (theirs, ours *recorder, all map[string]pair) {
	c := awstest.New(awstest.Options{})
	theirs, ours = &recorder{RoundTripper: c.Client()}, &recorder{RoundTripper: c.Client()}
	cfg := config(c)
	cfg.HTTPClient = &http.Client{Transport: theirs}
	cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	x, y, z := ec2.NewFromConfig(cfg), elbv2.NewFromConfig(cfg), elasticloadbalancing.NewFromConfig(cfg)
	sm, ps, id, bucket := secretsmanager.NewFromConfig(cfg), ssm.NewFromConfig(cfg), sts.NewFromConfig(cfg), s3.NewFromConfig(cfg)
	own := api.IdentityReference{Kind: api.ControllerIdentity, Name: api.DefaultIdentity}
	place := placeOf(t, ours, c.Region(), own)
	must[string](t)(place.ID(t.Context())) // requests to S3 name the account
	network, public, _ := c.AddVPC("10.1.0.0/16")
	ourTags, theirTags := cloud.Tags{"a": "1", "b": "2"}, []elbv2types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}
	nlb := must[cloud.Balancer](t)(place.CreateBalancer(t.Context(), cloud.BalancerRequest{Name: "there", Scheme: "internal", Subnets: public, Tags: ourTags}))
	group := must[cloud.TargetGroup](t)(place.CreateTargetGroup(t.Context(), "there", network, 6443, false, cloud.Health{Protocol: "TCP", Port: "6443"}, ourTags))
	must[cloud.Balancer](t)(place.CreateClassic(t.Context(), cloud.BalancerRequest{Name: "there", Subnets: public, Port: 6443}, 6443, nil))
	listing := func(ctx context.Context) error {
		defer place.Changed(snapshot.Owner{})
		return errOf(place.Snapshot(ctx, snapshot.Owner{}))
	}
	ofFleet := []ec2types.Filter{{Name: aws.String("tag-key"), Values: []string{"fairlead.dev/fleet"}}}
	page, owner, name := aws.Int32(1000), aws.String("123456789012"), aws.String("user-data")
	const content = "content"
	const sum = "7XACtDnprIRfIjV9giusFERzD722AW0+yUMil7nsn3M=" // SHA-256 of that
	two := tags("vpc", "a", "1", "b", "2")
	all = map[string]pair{
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
				return errOf(place.CreateTargetGroup(ctx, "a", "vpc-1", 6443, false, cloud.Health{Protocol: "HTTPS", Port: "6443", Path: "/readyz", Interval: 10, Timeout: 5, Healthy: 5, Unhealthy: 3}, nil))
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
		"RunInstances with network interfaces": {
			func(ctx context.Context) error {
				return errOf(x.RunInstances(ctx, &ec2.RunInstancesInput{
					ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ClientToken: aws.String("t"),
					NetworkInterfaces: []ec2types.InstanceNetworkInterfaceSpecification{
						{DeviceIndex: aws.Int32(0), NetworkInterfaceId: aws.String("eni-1")}, {DeviceIndex: aws.Int32(1), NetworkInterfaceId: aws.String("eni-2")},
					},
				}))
			},
			func(ctx context.Context) error {
				return errOf(place.Run(ctx, url.Values{
					"ImageId": {"ami-1"}, "ClientToken": {"t"}, "NetworkInterface.1.DeviceIndex": {"0"}, "NetworkInterface.1.NetworkInterfaceId": {"eni-1"},
					"NetworkInterface.2.DeviceIndex": {"1"}, "NetworkInterface.2.NetworkInterfaceId": {"eni-2"},
				}))
			},
		},
		"CreateVpc of a pool": {
			func(ctx context.Context) error {
				return errOf(x.CreateVpc(ctx, &ec2.CreateVpcInput{Ipv4IpamPoolId: aws.String("ipam-pool-1"), Ipv4NetmaskLength: aws.Int32(20), TagSpecifications: two}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateVPC(ctx, cloud.VPCRequest{Pool: "ipam-pool-1", Length: 20, Tags: ourTags}))
			},
		},
		"DescribeIpamPools": {
			func(ctx context.Context) error {
				return errOf(x.DescribeIpamPools(ctx, &ec2.DescribeIpamPoolsInput{Filters: []ec2types.Filter{{Name: aws.String("tag:Name"), Values: []string{"a"}}}}))
			},
			func(ctx context.Context) error { return errOf(place.Pools(ctx, "a")) },
		},
		"AssociateVpcCidrBlock": {
			func(ctx context.Context) error {
				return errOf(x.AssociateVpcCidrBlock(ctx, &ec2.AssociateVpcCidrBlockInput{VpcId: aws.String("vpc-1"), CidrBlock: aws.String("100.64.0.0/16")}))
			},
			func(ctx context.Context) error { return place.AddRange(ctx, "vpc-1", "100.64.0.0/16") },
		},
		"DeleteVpc": {
			func(ctx context.Context) error {
				return errOf(x.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: aws.String("vpc-1")}))
			},
			func(ctx context.Context) error { return place.DeleteVPC(ctx, "vpc-1") },
		},
		"CreateSubnet": {
			func(ctx context.Context) error {
				return errOf(x.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: aws.String("vpc-1"), CidrBlock: aws.String("10.0.0.0/24"), AvailabilityZone: aws.String("a"), TagSpecifications: tags("subnet", "a", "1", "b", "2")}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateSubnet(ctx, "vpc-1", "10.0.0.0/24", "", "a", ourTags))
			},
		},
		"CreateSubnet of both families": {
			func(ctx context.Context) error {
				return errOf(x.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: aws.String("vpc-1"), CidrBlock: aws.String("10.0.0.0/24"), Ipv6CidrBlock: aws.String("2001:db8::/64"), AvailabilityZone: aws.String("a"), TagSpecifications: tags("subnet", "a", "1", "b", "2")}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateSubnet(ctx, "vpc-1", "10.0.0.0/24", "2001:db8::/64", "a", ourTags))
			},
		},
		"ModifySubnetAttribute": {
			func(ctx context.Context) error {
				return errOf(x.ModifySubnetAttribute(ctx, &ec2.ModifySubnetAttributeInput{SubnetId: aws.String("subnet-1"), AssignIpv6AddressOnCreation: &ec2types.AttributeBooleanValue{Value: aws.Bool(true)}}))
			},
			func(ctx context.Context) error { return place.GiveSix(ctx, "subnet-1") },
		},
		"CreateVpc with IPv6 of Amazon": {
			func(ctx context.Context) error {
				return errOf(x.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), AmazonProvidedIpv6CidrBlock: aws.Bool(true), TagSpecifications: two}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateVPC(ctx, cloud.VPCRequest{CIDR: "10.0.0.0/16", Six: cloud.SixRequest{Amazon: true}, Tags: ourTags}))
			},
		},
		"CreateVpc with IPv6 of people": {
			func(ctx context.Context) error {
				return errOf(x.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), Ipv6CidrBlock: aws.String("2001:db8::/56"), Ipv6Pool: aws.String("p"), TagSpecifications: two}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateVPC(ctx, cloud.VPCRequest{CIDR: "10.0.0.0/16", Six: cloud.SixRequest{CIDR: "2001:db8::/56", Pool: "p"}, Tags: ourTags}))
			},
		},
		"CreateVpc with IPv6 of a pool": {
			func(ctx context.Context) error {
				return errOf(x.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), Ipv6IpamPoolId: aws.String("ipam-pool-1"), Ipv6NetmaskLength: aws.Int32(56), TagSpecifications: two}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateVPC(ctx, cloud.VPCRequest{CIDR: "10.0.0.0/16", Six: cloud.SixRequest{IPAM: "ipam-pool-1", Length: 56}, Tags: ourTags}))
			},
		},
		"CreateEgressOnlyInternetGateway": {
			func(ctx context.Context) error {
				return errOf(x.CreateEgressOnlyInternetGateway(ctx, &ec2.CreateEgressOnlyInternetGatewayInput{VpcId: aws.String("vpc-1"), TagSpecifications: tags("egress-only-internet-gateway", "a", "1", "b", "2")}))
			},
			func(ctx context.Context) error { return errOf(place.CreateEgress(ctx, "vpc-1", ourTags)) },
		},
		"DescribeEgressOnlyInternetGateways": {
			func(ctx context.Context) error {
				return errOf(x.DescribeEgressOnlyInternetGateways(ctx, &ec2.DescribeEgressOnlyInternetGatewaysInput{MaxResults: aws.Int32(255), Filters: []ec2types.Filter{{Name: aws.String("tag:a"), Values: []string{"1"}}}}))
			},
			func(ctx context.Context) error { return errOf(place.Egresses(ctx, "tag:a", "1")) },
		},
		"DeleteEgressOnlyInternetGateway": {
			func(ctx context.Context) error {
				return errOf(x.DeleteEgressOnlyInternetGateway(ctx, &ec2.DeleteEgressOnlyInternetGatewayInput{EgressOnlyInternetGatewayId: aws.String("eigw-1")}))
			},
			func(ctx context.Context) error { return place.DeleteEgress(ctx, "eigw-1") },
		},
		"CreateRoute of IPv6": {
			func(ctx context.Context) error {
				return errOf(x.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: aws.String("rtb-1"), DestinationIpv6CidrBlock: aws.String("::/0"), EgressOnlyInternetGatewayId: aws.String("eigw-1")}))
			},
			func(ctx context.Context) error { return place.CreateRoute(ctx, "rtb-1", "::/0", "eigw-1") },
		},
		"DeleteRoute of IPv6": {
			func(ctx context.Context) error {
				return errOf(x.DeleteRoute(ctx, &ec2.DeleteRouteInput{RouteTableId: aws.String("rtb-1"), DestinationIpv6CidrBlock: aws.String("::/0")}))
			},
			func(ctx context.Context) error { return place.DeleteRoute(ctx, "rtb-1", "::/0") },
		},
		"CreateLoadBalancer of both families": {
			func(ctx context.Context) error {
				return errOf(y.CreateLoadBalancer(ctx, &elbv2.CreateLoadBalancerInput{Name: aws.String("a"), Type: elbv2types.LoadBalancerTypeEnumNetwork, Scheme: "internal", Subnets: []string{"subnet-1"}, IpAddressType: "dualstack"}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateBalancer(ctx, cloud.BalancerRequest{Name: "a", Scheme: "internal", Subnets: []string{"subnet-1"}, Dual: true}))
			},
		},
		"CreateTargetGroup of IPv6": {
			func(ctx context.Context) error {
				return errOf(y.CreateTargetGroup(ctx, &elbv2.CreateTargetGroupInput{
					Name: aws.String("a"), Protocol: "TCP", Port: aws.Int32(6443), VpcId: aws.String("vpc-1"), TargetType: "instance", IpAddressType: "ipv6", HealthCheckProtocol: "TCP", HealthCheckPort: aws.String("6443"),
					HealthCheckIntervalSeconds: aws.Int32(10), HealthCheckTimeoutSeconds: aws.Int32(5), HealthyThresholdCount: aws.Int32(5), UnhealthyThresholdCount: aws.Int32(3),
				}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateTargetGroup(ctx, "a", "vpc-1", 6443, true, cloud.Health{Protocol: "TCP", Port: "6443", Interval: 10, Timeout: 5, Healthy: 5, Unhealthy: 3}, nil))
			},
		},
		"RunInstances with a primary address": {
			func(ctx context.Context) error {
				return errOf(x.RunInstances(ctx, &ec2.RunInstancesInput{
					ImageId: aws.String("ami-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ClientToken: aws.String("t"), NetworkInterfaces: []ec2types.InstanceNetworkInterfaceSpecification{{
						DeviceIndex: aws.Int32(0), SubnetId: aws.String("subnet-1"), AssociatePublicIpAddress: aws.Bool(false), Groups: []string{"sg-1"}, PrimaryIpv6: aws.Bool(true), Ipv6AddressCount: aws.Int32(1),
					}},
				}))
			},
			func(ctx context.Context) error {
				return errOf(place.Run(ctx, url.Values{
					"ImageId": {"ami-1"}, "ClientToken": {"t"}, "NetworkInterface.1.DeviceIndex": {"0"}, "NetworkInterface.1.SubnetId": {"subnet-1"}, "NetworkInterface.1.SecurityGroupId.1": {"sg-1"},
					"NetworkInterface.1.AssociatePublicIpAddress": {"false"}, "NetworkInterface.1.PrimaryIpv6": {"true"}, "NetworkInterface.1.Ipv6AddressCount": {"1"},
				}))
			},
		},
		"DeleteSubnet": {
			func(ctx context.Context) error {
				return errOf(x.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: aws.String("subnet-1")}))
			},
			func(ctx context.Context) error { return place.DeleteSubnet(ctx, "subnet-1") },
		},
		"CreateInternetGateway": {
			func(ctx context.Context) error {
				return errOf(x.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{TagSpecifications: tags("internet-gateway", "a", "1", "b", "2")}))
			},
			func(ctx context.Context) error { return errOf(place.CreateGateway(ctx, ourTags)) },
		},
		"AttachInternetGateway": {
			func(ctx context.Context) error {
				return errOf(x.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: aws.String("igw-1"), VpcId: aws.String("vpc-1")}))
			},
			func(ctx context.Context) error { return place.AttachGateway(ctx, "igw-1", "vpc-1") },
		},
		"DetachInternetGateway": {
			func(ctx context.Context) error {
				return errOf(x.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: aws.String("igw-1"), VpcId: aws.String("vpc-1")}))
			},
			func(ctx context.Context) error { return place.DetachGateway(ctx, "igw-1", "vpc-1") },
		},
		"DeleteInternetGateway": {
			func(ctx context.Context) error {
				return errOf(x.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: aws.String("igw-1")}))
			},
			func(ctx context.Context) error { return place.DeleteGateway(ctx, "igw-1") },
		},
		"AllocateAddress": {
			func(ctx context.Context) error {
				return errOf(x.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: "vpc", PublicIpv4Pool: aws.String("p"), TagSpecifications: tags("elastic-ip", "a", "1", "b", "2")}))
			},
			func(ctx context.Context) error { return errOf(place.AllocateAddress(ctx, "p", ourTags)) },
		},
		"ReleaseAddress": {
			func(ctx context.Context) error {
				return errOf(x.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: aws.String("eipalloc-1")}))
			},
			func(ctx context.Context) error { return place.ReleaseAddress(ctx, "eipalloc-1") },
		},
		"DeleteNatGateway": {
			func(ctx context.Context) error {
				return errOf(x.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: aws.String("nat-1")}))
			},
			func(ctx context.Context) error { return place.DeleteNAT(ctx, "nat-1") },
		},
		"CreateRouteTable": {
			func(ctx context.Context) error {
				return errOf(x.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: aws.String("vpc-1"), TagSpecifications: tags("route-table", "a", "1", "b", "2")}))
			},
			func(ctx context.Context) error { return errOf(place.CreateTable(ctx, "vpc-1", ourTags)) },
		},
		"CreateRoute of a gateway": {
			func(ctx context.Context) error {
				return errOf(x.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: aws.String("rtb-1"), DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: aws.String("igw-1")}))
			},
			func(ctx context.Context) error { return place.CreateRoute(ctx, "rtb-1", "0.0.0.0/0", "igw-1") },
		},
		"DeleteRoute": {
			func(ctx context.Context) error {
				return errOf(x.DeleteRoute(ctx, &ec2.DeleteRouteInput{RouteTableId: aws.String("rtb-1"), DestinationCidrBlock: aws.String("0.0.0.0/0")}))
			},
			func(ctx context.Context) error { return place.DeleteRoute(ctx, "rtb-1", "0.0.0.0/0") },
		},
		"AssociateRouteTable": {
			func(ctx context.Context) error {
				return errOf(x.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: aws.String("rtb-1"), SubnetId: aws.String("subnet-1")}))
			},
			func(ctx context.Context) error { return errOf(place.Associate(ctx, "rtb-1", "subnet-1")) },
		},
		"DeleteRouteTable": {
			func(ctx context.Context) error {
				return errOf(x.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: aws.String("rtb-1")}))
			},
			func(ctx context.Context) error { return place.DeleteTable(ctx, "rtb-1") },
		},
		"CreateSecurityGroup": {
			func(ctx context.Context) error {
				return errOf(x.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{VpcId: aws.String("vpc-1"), GroupName: aws.String("g"), Description: aws.String("d"), TagSpecifications: tags("security-group", "a", "1", "b", "2")}))
			},
			func(ctx context.Context) error { return errOf(place.CreateGroup(ctx, "vpc-1", "g", "d", ourTags)) },
		},
		"DeleteSecurityGroup": {
			func(ctx context.Context) error {
				return errOf(x.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String("sg-1")}))
			},
			func(ctx context.Context) error { return place.DeleteGroup(ctx, "sg-1") },
		},
		"RevokeSecurityGroupIngress": {
			func(ctx context.Context) error {
				return errOf(x.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String("sg-1"), IpPermissions: []ec2types.IpPermission{{IpProtocol: aws.String("-1"), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}}}}))
			},
			func(ctx context.Context) error {
				return place.Revoke(ctx, "sg-1", cloud.Rule{Protocol: "-1", From: -1, To: -1, Source: "0.0.0.0/0"})
			},
		},
		"RevokeSecurityGroupEgress": {
			func(ctx context.Context) error {
				return errOf(x.RevokeSecurityGroupEgress(ctx, &ec2.RevokeSecurityGroupEgressInput{GroupId: aws.String("sg-1"), IpPermissions: []ec2types.IpPermission{{IpProtocol: aws.String("-1"), Ipv6Ranges: []ec2types.Ipv6Range{{CidrIpv6: aws.String("::/0")}}}}}))
			},
			func(ctx context.Context) error {
				return place.RevokeOut(ctx, "sg-1", cloud.Rule{Protocol: "-1", From: -1, To: -1, Source: "::/0"})
			},
		},
		"ModifyNetworkInterfaceAttribute": {
			func(ctx context.Context) error {
				return errOf(x.ModifyNetworkInterfaceAttribute(ctx, &ec2.ModifyNetworkInterfaceAttributeInput{NetworkInterfaceId: aws.String("eni-1"), Groups: []string{"sg-1", "sg-2"}}))
			},
			func(ctx context.Context) error { return place.SetGroups(ctx, "eni-1", "sg-1", "sg-2") },
		},
		"CreateTags": {
			func(ctx context.Context) error {
				return errOf(x.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{"i-1", "vpc-1"}, Tags: []ec2types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}}))
			},
			func(ctx context.Context) error { return place.Mark(ctx, []string{"i-1", "vpc-1"}, ourTags) },
		},
		"DeleteTags": {
			func(ctx context.Context) error {
				return errOf(x.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{"i-1"}, Tags: []ec2types.Tag{{Key: aws.String("a")}, {Key: aws.String("b")}}}))
			},
			func(ctx context.Context) error { return place.Unmark(ctx, "i-1", []string{"a", "b"}) },
		},
		"RemoveTags": {
			func(ctx context.Context) error {
				return errOf(y.RemoveTags(ctx, &elbv2.RemoveTagsInput{ResourceArns: []string{"arn:1"}, TagKeys: []string{"a", "b"}}))
			},
			func(ctx context.Context) error { return place.UnmarkBalancer(ctx, "arn:1", []string{"a", "b"}) },
		},
		"RemoveTags of a classic one": {
			func(ctx context.Context) error {
				return errOf(z.RemoveTags(ctx, &elasticloadbalancing.RemoveTagsInput{LoadBalancerNames: []string{"there"}, Tags: []elbtypes.TagKeyOnly{{Key: aws.String("a")}, {Key: aws.String("b")}}}))
			},
			func(ctx context.Context) error { return place.UnmarkBalancer(ctx, "there", []string{"a", "b"}) },
		},
		"DescribeNatGateways by a tag": {
			func(ctx context.Context) error {
				return errOf(x.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{MaxResults: page, Filter: []ec2types.Filter{{Name: aws.String("tag:a"), Values: []string{"owned"}}}}))
			},
			func(ctx context.Context) error { return errOf(place.NATs(ctx, "tag:a", "owned")) },
		},
		"DescribeAddresses by a tag": {
			func(ctx context.Context) error {
				return errOf(x.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{Filters: []ec2types.Filter{{Name: aws.String("tag:a"), Values: []string{"owned"}}}}))
			},
			func(ctx context.Context) error { return errOf(place.Addresses(ctx, "tag:a", "owned")) },
		},
		"TerminateInstances": {
			func(ctx context.Context) error {
				return errOf(x.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{"i-1"}}))
			},
			func(ctx context.Context) error { return place.Terminate(ctx, "i-1") },
		},
		"DescribeInstances of a listing": {
			func(ctx context.Context) error {
				return errOf(x.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: ofFleet, MaxResults: page}))
			},
			listing,
		},
		"DescribeInstances": {
			func(ctx context.Context) error {
				return errOf(x.DescribeInstances(ctx, &ec2.DescribeInstancesInput{MaxResults: page, Filters: []ec2types.Filter{{Name: aws.String("instance-id"), Values: []string{"i-1", "i-2"}}}}))
			},
			func(ctx context.Context) error { return errOf(place.InstancesOf(ctx, []string{"i-1", "i-2"})) },
		},
		"DescribeImages": {
			func(ctx context.Context) error {
				return errOf(x.DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: aws.String("owner-id"), Values: []string{"1"}}, {Name: aws.String("name"), Values: []string{"a", "b"}}}}))
			},
			func(ctx context.Context) error {
				return errOf(place.Images(ctx, "owner-id", "1", "name", "a", "name", "b"))
			},
		},
		"DescribeImages by id": {
			func(ctx context.Context) error {
				return errOf(x.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{"ami-1"}}))
			},
			func(ctx context.Context) error { return errOf(place.Image(ctx, "ami-1")) },
		},
		"DescribeAvailabilityZones": {
			func(ctx context.Context) error {
				return errOf(x.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{}))
			},
			func(ctx context.Context) error { return errOf(place.Zones(ctx)) },
		},
		"DescribeInstanceTypeOfferings": {
			func(ctx context.Context) error {
				return errOf(x.DescribeInstanceTypeOfferings(ctx, &ec2.DescribeInstanceTypeOfferingsInput{LocationType: "availability-zone", Filters: []ec2types.Filter{{Name: aws.String("instance-type"), Values: []string{"a"}}}}))
			},
			func(ctx context.Context) error { return errOf(place.Offered(ctx, "a")) },
		},
		"DescribeKeyPairs": {
			func(ctx context.Context) error {
				return errOf(x.DescribeKeyPairs(ctx, &ec2.DescribeKeyPairsInput{KeyNames: []string{"ops"}}))
			},
			func(ctx context.Context) error { return place.KeyPair(ctx, "ops") },
		},
		"DescribeNetworkInterfaces": {
			func(ctx context.Context) error {
				return errOf(x.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{MaxResults: page, Filters: []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{"vpc-1"}}}}))
			},
			func(ctx context.Context) error { return errOf(place.Interfaces(ctx, "vpc-id", "vpc-1")) },
		},
		"DescribeVpcs": {
			func(ctx context.Context) error {
				return errOf(x.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{MaxResults: page}))
			},
			listing,
		},
		"DescribeSubnets": {
			func(ctx context.Context) error {
				return errOf(x.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{MaxResults: page}))
			},
			listing,
		},
		"DescribeInternetGateways": {
			func(ctx context.Context) error {
				return errOf(x.DescribeInternetGateways(ctx, &ec2.DescribeInternetGatewaysInput{MaxResults: page}))
			},
			listing,
		},
		"DescribeAddresses": {
			func(ctx context.Context) error {
				return errOf(x.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{Filters: ofFleet}))
			},
			listing,
		},
		"DescribeNatGateways": {
			func(ctx context.Context) error {
				return errOf(x.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{MaxResults: page, Filter: ofFleet}))
			},
			listing,
		},
		"DescribeRouteTables": {
			func(ctx context.Context) error {
				return errOf(x.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{MaxResults: page}))
			},
			listing,
		},
		"DescribeSecurityGroups": {
			func(ctx context.Context) error {
				return errOf(x.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{MaxResults: page, Filters: ofFleet}))
			},
			listing,
		},
		"DescribeLoadBalancers": {
			func(ctx context.Context) error {
				return errOf(y.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{PageSize: aws.Int32(400)}))
			},
			func(ctx context.Context) error { return errOf(place.Balancers(ctx)) },
		},
		"DescribeTargetGroups": {
			func(ctx context.Context) error {
				return errOf(y.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{PageSize: aws.Int32(400)}))
			},
			func(ctx context.Context) error { return errOf(place.TargetGroups(ctx)) },
		},
		"DescribeTargetHealth": {
			func(ctx context.Context) error {
				return errOf(y.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &group.ID}))
			},
			func(ctx context.Context) error { return errOf(place.Targets(ctx, group.ID)) },
		},
		"DeregisterTargets": {
			func(ctx context.Context) error {
				return errOf(y.DeregisterTargets(ctx, &elbv2.DeregisterTargetsInput{TargetGroupArn: aws.String("arn:1"), Targets: []elbv2types.TargetDescription{{Id: aws.String("i-1")}}}))
			},
			func(ctx context.Context) error { return place.SetTarget(ctx, "arn:1", "i-1", false) },
		},
		"DeleteLoadBalancer": {
			func(ctx context.Context) error {
				return errOf(y.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: aws.String("arn:1")}))
			},
			func(ctx context.Context) error { return place.DeleteBalancer(ctx, cloud.Balancer{ID: "arn:1"}) },
		},
		"DeleteTargetGroup": {
			func(ctx context.Context) error {
				return errOf(y.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: aws.String("arn:1")}))
			},
			func(ctx context.Context) error { return place.DeleteTargetGroup(ctx, "arn:1") },
		},
		"CreateListener": {
			func(ctx context.Context) error {
				return errOf(y.CreateListener(ctx, &elbv2.CreateListenerInput{LoadBalancerArn: aws.String("arn:1"), Protocol: "TCP", Port: aws.Int32(6443), Tags: theirTags, DefaultActions: []elbv2types.Action{{Type: "forward", TargetGroupArn: aws.String("arn:2")}}}))
			},
			func(ctx context.Context) error { return place.CreateListener(ctx, "arn:1", "arn:2", 6443, ourTags) },
		},
		"ModifyTargetGroup": {
			func(ctx context.Context) error {
				return errOf(y.ModifyTargetGroup(ctx, &elbv2.ModifyTargetGroupInput{TargetGroupArn: aws.String("arn:1"), HealthCheckProtocol: "TCP", HealthCheckPort: aws.String("6443"), HealthCheckIntervalSeconds: aws.Int32(10), HealthCheckTimeoutSeconds: aws.Int32(5), HealthyThresholdCount: aws.Int32(5), UnhealthyThresholdCount: aws.Int32(3)}))
			},
			func(ctx context.Context) error {
				return place.SetHealth(ctx, "arn:1", cloud.Health{Protocol: "TCP", Port: "6443", Interval: 10, Timeout: 5, Healthy: 5, Unhealthy: 3})
			},
		},
		"AddTags": {
			func(ctx context.Context) error {
				return errOf(y.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: []string{"arn:1"}, Tags: theirTags}))
			},
			func(ctx context.Context) error { return place.MarkBalancer(ctx, "arn:1", ourTags) },
		},
		"DescribeLoadBalancerAttributes": {
			func(ctx context.Context) error {
				return errOf(y.DescribeLoadBalancerAttributes(ctx, &elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &nlb.ID}))
			},
			func(ctx context.Context) error {
				return errOf(placeOf(t, ours, c.Region(), own).Attributes(ctx, nlb.ID))
			},
		},
		"DescribeTargetGroupAttributes": {
			func(ctx context.Context) error {
				return errOf(y.DescribeTargetGroupAttributes(ctx, &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: &group.ID}))
			},
			func(ctx context.Context) error {
				return errOf(placeOf(t, ours, c.Region(), own).Attributes(ctx, group.ID))
			},
		},
		"ModifyLoadBalancerAttributes": {
			func(ctx context.Context) error {
				return errOf(y.ModifyLoadBalancerAttributes(ctx, &elbv2.ModifyLoadBalancerAttributesInput{LoadBalancerArn: &nlb.ID, Attributes: []elbv2types.LoadBalancerAttribute{{Key: aws.String("load_balancing.cross_zone.enabled"), Value: aws.String("true")}}}))
			},
			func(ctx context.Context) error {
				return place.SetAttributes(ctx, nlb.ID, map[string]string{cloud.CrossZone: "true"})
			},
		},
		"ModifyTargetGroupAttributes": {
			func(ctx context.Context) error {
				return errOf(y.ModifyTargetGroupAttributes(ctx, &elbv2.ModifyTargetGroupAttributesInput{TargetGroupArn: &group.ID, Attributes: []elbv2types.TargetGroupAttribute{{Key: aws.String("preserve_client_ip.enabled"), Value: aws.String("true")}, {Key: aws.String("target_health_state.unhealthy.connection_termination.enabled"), Value: aws.String("false")}}}))
			},
			func(ctx context.Context) error {
				return place.SetAttributes(ctx, group.ID, map[string]string{cloud.ClientIP: "true", cloud.CutUnhealthy: "false"})
			},
		},
		"CreateLoadBalancer of a classic one": {
			func(ctx context.Context) error {
				return errOf(z.CreateLoadBalancer(ctx, &elasticloadbalancing.CreateLoadBalancerInput{LoadBalancerName: aws.String("a"), Scheme: aws.String("internal"), Subnets: []string{"subnet-1", "subnet-2"}, SecurityGroups: []string{"sg-1"}, Tags: []elbtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}}, Listeners: []elbtypes.Listener{{Protocol: aws.String("TCP"), InstanceProtocol: aws.String("TCP"), LoadBalancerPort: 443, InstancePort: aws.Int32(6443)}, {Protocol: aws.String("TCP"), InstanceProtocol: aws.String("TCP"), LoadBalancerPort: 9345, InstancePort: aws.Int32(9345)}}}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateClassic(ctx, cloud.BalancerRequest{Name: "a", Scheme: "internal", Subnets: []string{"subnet-1", "subnet-2"}, Groups: []string{"sg-1"}, Tags: cloud.Tags{"a": "1"}, Port: 443}, 6443, []int32{9345}))
			},
		},
		"DescribeLoadBalancers of a classic one": {
			func(ctx context.Context) error {
				return errOf(z.DescribeLoadBalancers(ctx, &elasticloadbalancing.DescribeLoadBalancersInput{PageSize: aws.Int32(400)}))
			},
			func(ctx context.Context) error { return errOf(place.Classics(ctx)) },
		},
		"ConfigureHealthCheck of a classic one": {
			func(ctx context.Context) error {
				return errOf(z.ConfigureHealthCheck(ctx, &elasticloadbalancing.ConfigureHealthCheckInput{LoadBalancerName: aws.String("there"), HealthCheck: &elbtypes.HealthCheck{Target: aws.String("HTTPS:6443/readyz"), Interval: aws.Int32(10), Timeout: aws.Int32(5), HealthyThreshold: aws.Int32(5), UnhealthyThreshold: aws.Int32(3)}}))
			},
			func(ctx context.Context) error {
				return place.ConfigureClassic(ctx, "there", cloud.Health{Protocol: "HTTPS", Port: "6443", Path: "/readyz", Interval: 10, Timeout: 5, Healthy: 5, Unhealthy: 3})
			},
		},
		"RegisterInstancesWithLoadBalancer of a classic one": {
			func(ctx context.Context) error {
				return errOf(z.RegisterInstancesWithLoadBalancer(ctx, &elasticloadbalancing.RegisterInstancesWithLoadBalancerInput{LoadBalancerName: aws.String("there"), Instances: []elbtypes.Instance{{InstanceId: aws.String("i-1")}}}))
			},
			func(ctx context.Context) error { return place.SetTarget(ctx, "there", "i-1", true) },
		},
		"DeregisterInstancesFromLoadBalancer of a classic one": {
			func(ctx context.Context) error {
				return errOf(z.DeregisterInstancesFromLoadBalancer(ctx, &elasticloadbalancing.DeregisterInstancesFromLoadBalancerInput{LoadBalancerName: aws.String("there"), Instances: []elbtypes.Instance{{InstanceId: aws.String("i-1")}}}))
			},
			func(ctx context.Context) error { return place.SetTarget(ctx, "there", "i-1", false) },
		},
		"DescribeLoadBalancerAttributes of a classic one": {
			func(ctx context.Context) error {
				return errOf(z.DescribeLoadBalancerAttributes(ctx, &elasticloadbalancing.DescribeLoadBalancerAttributesInput{LoadBalancerName: aws.String("there")}))
			},
			func(ctx context.Context) error {
				return errOf(placeOf(t, ours, c.Region(), own).Attributes(ctx, "there"))
			},
		},
		"ModifyLoadBalancerAttributes of a classic one": {
			func(ctx context.Context) error {
				return errOf(z.ModifyLoadBalancerAttributes(ctx, &elasticloadbalancing.ModifyLoadBalancerAttributesInput{LoadBalancerName: aws.String("there"), LoadBalancerAttributes: &elbtypes.LoadBalancerAttributes{CrossZoneLoadBalancing: &elbtypes.CrossZoneLoadBalancing{Enabled: true}}}))
			},
			func(ctx context.Context) error {
				return place.SetAttributes(ctx, "there", map[string]string{cloud.CrossZone: "true"})
			},
		},
		"AddTags of a classic one": {
			func(ctx context.Context) error {
				return errOf(z.AddTags(ctx, &elasticloadbalancing.AddTagsInput{LoadBalancerNames: []string{"there"}, Tags: []elbtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}}))
			},
			func(ctx context.Context) error { return place.MarkBalancer(ctx, "there", ourTags) },
		},
		"DeleteLoadBalancer of a classic one": {
			func(ctx context.Context) error {
				return errOf(z.DeleteLoadBalancer(ctx, &elasticloadbalancing.DeleteLoadBalancerInput{LoadBalancerName: aws.String("missing")}))
			},
			func(ctx context.Context) error {
				return place.DeleteBalancer(ctx, cloud.Balancer{Classic: true, Name: "missing"})
			},
		},
		"DescribeTags": {
			func(ctx context.Context) error {
				all, err := place.TargetGroups(ctx)
				var ids []string // of other cases, too
				for _, g := range all {
					ids = append(ids, g.ID)
				}
				return errors.Join(err, errOf(y.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: ids})))
			},
			func(ctx context.Context) error {
				err := listing(ctx)
				ours.sent = slices.DeleteFunc(ours.sent, func(one map[string]any) bool {
					return !strings.Contains(fmt.Sprint(one["ResourceArns.member.1"]), ":targetgroup/")
				})
				return err
			},
		},
		"DescribeTags of a classic one": {
			func(ctx context.Context) error {
				return errOf(z.DescribeTags(ctx, &elasticloadbalancing.DescribeTagsInput{LoadBalancerNames: []string{"there"}}))
			},
			func(ctx context.Context) error {
				err := listing(ctx)
				ours.sent = slices.DeleteFunc(ours.sent, func(one map[string]any) bool { return one["LoadBalancerNames.member.1"] != "there" })
				return err
			},
		},
		"CreateSecret": {
			func(ctx context.Context) error {
				return errOf(sm.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: name, ClientRequestToken: aws.String(strings.Repeat("t", 32)), SecretBinary: []byte(content), Tags: []smtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}}))
			},
			func(ctx context.Context) error {
				return place.Keep(ctx, cloud.SecretsManager, *name, strings.Repeat("t", 32), []byte(content), ourTags)
			},
		},
		"PutSecretValue of one that is there": {
			func(ctx context.Context) error {
				return errOf(sm.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: name, ClientRequestToken: aws.String(strings.Repeat("u", 32)), SecretBinary: []byte("other")}))
			},
			func(ctx context.Context) error {
				for _, with := range []string{content, "other"} {
					if err := place.Keep(ctx, cloud.SecretsManager, *name, strings.Repeat("u", 32), []byte(with), ourTags); err != nil {
						return err
					}
				}
				return nil
			},
		},
		"ListSecrets": {
			func(ctx context.Context) error {
				return errOf(sm.ListSecrets(ctx, &secretsmanager.ListSecretsInput{MaxResults: aws.Int32(100), Filters: []smtypes.Filter{{Key: "tag-key", Values: []string{"fairlead.dev/fleet"}}}}))
			},
			func(ctx context.Context) error { return errOf(place.Secrets(ctx, "fairlead.dev/fleet")) },
		},
		"DeleteSecret": {
			func(ctx context.Context) error {
				return errOf(sm.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: aws.String("arn:1"), ForceDeleteWithoutRecovery: aws.Bool(true)}))
			},
			func(ctx context.Context) error {
				return place.Drop(ctx, cloud.Secret{Store: cloud.SecretsManager, ID: "arn:1"})
			},
		},
		"GetParameter": {
			func(ctx context.Context) error {
				return errOf(ps.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/ami")}))
			},
			func(ctx context.Context) error { return errOf(place.Parameter(ctx, "/ami")) },
		},
		"PutParameter": {
			func(ctx context.Context) error {
				return errOf(ps.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("/fairlead/n/0"), Type: "SecureString", Value: aws.String("1 Y29udGVudA=="), Tags: []ssmtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}}))
			},
			func(ctx context.Context) error {
				return place.Keep(ctx, cloud.ParameterStore, "fairlead/n", "", []byte(content), ourTags)
			},
		},
		"PutParameter of one that is there": {
			func(ctx context.Context) error {
				return errOf(ps.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("/fairlead/m/0"), Type: "SecureString", Value: aws.String("1 Y29udGVudA=="), Overwrite: aws.Bool(true)}))
			},
			func(ctx context.Context) error {
				for range 2 {
					if err := place.Keep(ctx, cloud.ParameterStore, "fairlead/m", "", []byte(content), ourTags); err != nil {
						return err
					}
				}
				return nil
			},
		},
		"DescribeParameters": {
			func(ctx context.Context) error {
				return errOf(ps.DescribeParameters(ctx, &ssm.DescribeParametersInput{MaxResults: aws.Int32(50), ParameterFilters: []ssmtypes.ParameterStringFilter{{Key: aws.String("Path"), Option: aws.String("Recursive"), Values: []string{"/fairlead/a"}}}}))
			},
			func(ctx context.Context) error { return errOf(place.Stored(ctx, cloud.ParameterStore, "fairlead/a/")) },
		},
		"DeleteParameter": {
			func(ctx context.Context) error {
				return errOf(ps.DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: aws.String("/fairlead/n/0")}))
			},
			func(ctx context.Context) error {
				return place.Drop(ctx, cloud.Secret{Store: cloud.ParameterStore, Name: "fairlead/n/0"})
			},
		},
		"GetCallerIdentity": {
			func(ctx context.Context) error {
				return errOf(id.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}))
			},
			func(ctx context.Context) error { return errOf(place.Identity(ctx)) },
		},
		"AssumeRole": {
			func(ctx context.Context) error {
				return errOf(id.AssumeRole(ctx, &sts.AssumeRoleInput{
					RoleArn: aws.String("arn:aws:iam::123456789012:role/a"), RoleSessionName: aws.String("s"), DurationSeconds: aws.Int32(1800), ExternalId: aws.String("e"), Policy: aws.String("{}"),
					PolicyArns: []ststypes.PolicyDescriptorType{{Arn: aws.String("arn:p")}},
				}))
			},
			func(ctx context.Context) error {
				role := fleet.Object{GVK: schema.GroupVersionKind{Kind: api.RoleIdentity}, Name: "a", Spec: json.RawMessage(`{"allowedNamespaces": {}, "roleARN": "arn:aws:iam::123456789012:role/a", "sessionName": "s",
					"durationSeconds": 1800, "externalID": "e", "inlinePolicy": "{}", "policyARNs": ["arn:p"], "sourceIdentityRef": {"kind": "AWSClusterControllerIdentity", "name": "default"}}`)}
				return errOf(placeOf(t, ours, c.Region(), api.IdentityReference{Kind: api.RoleIdentity, Name: "a"}, role).Identity(ctx))
			},
		},
		"CreateBucket": {
			func(ctx context.Context) error {
				return errOf(bucket.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: name, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "eu-central-1", Tags: []s3types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}}}))
			},
			func(ctx context.Context) error { return place.CreateBucket(ctx, *name, ourTags) },
		},
		"GetBucketTagging": {
			func(ctx context.Context) error {
				return errOf(bucket.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: name, ExpectedBucketOwner: owner}))
			},
			func(ctx context.Context) error { return errOf(place.Bucket(ctx, *name)) },
		},
		"GetBucketPolicy": {
			func(ctx context.Context) error {
				return errOf(bucket.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: name, ExpectedBucketOwner: owner}))
			},
			func(ctx context.Context) error { return errOf(place.BucketPolicy(ctx, *name)) },
		},
		"PutBucketPolicy": {
			func(ctx context.Context) error {
				return errOf(bucket.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: name, ExpectedBucketOwner: owner, Policy: aws.String(content), ChecksumAlgorithm: "SHA256"}))
			},
			func(ctx context.Context) error { return place.SetBucketPolicy(ctx, *name, content) },
		},
		"ListBucket": {
			func(ctx context.Context) error {
				return errOf(bucket.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: name, ExpectedBucketOwner: owner, Prefix: aws.String("fairlead/a b/")}))
			},
			func(ctx context.Context) error {
				return errOf(place.Stored(ctx, cloud.BucketStore(*name), "fairlead/a b/"))
			},
		},
		"PutObject": {
			func(ctx context.Context) error {
				return errOf(bucket.PutObject(ctx, &s3.PutObjectInput{Bucket: name, ExpectedBucketOwner: owner, Key: aws.String("fairlead/a/b"), Body: strings.NewReader(content), ChecksumSHA256: aws.String(sum)}))
			},
			func(ctx context.Context) error {
				return place.Keep(ctx, cloud.BucketStore(*name), "fairlead/a/b", "", []byte(content), nil)
			},
		},
		"DeleteObject": {
			func(ctx context.Context) error {
				return errOf(bucket.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: name, ExpectedBucketOwner: owner, Key: aws.String("fairlead/a/b")}))
			},
			func(ctx context.Context) error {
				return place.Drop(ctx, cloud.Secret{Store: cloud.BucketStore(*name), Name: "fairlead/a/b"})
			},
		},
		"DeleteBucket": {
			func(ctx context.Context) error {
				return errOf(bucket.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: name, ExpectedBucketOwner: owner}))
			},
			func(ctx context.Context) error { return place.DeleteBucket(ctx, *name) },
		},
		"DeleteBucket with dots": {
			func(ctx context.Context) error {
				return errOf(bucket.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String("user.data"), ExpectedBucketOwner: owner}))
			},
			func(ctx context.Context) error { return place.DeleteBucket(ctx, "user.data") },
		},
	}
	maps.Copy(all, templateRequests(x, place))
	return theirs, ours, all
}

// TestRequests: what the provider's client sends is what the SDK's clients would send. Whether the cloud takes it does
// not matter.
func TestRequests(t *testing.T) {
	_, _, all := requests(t)
	for name := range all {
		t.Run(name, func(t *testing.T) {
			theirs, ours, all := requests(t)
			tc := all[name]
			theirs.sent, ours.sent = nil, nil
			_, _ = tc.theirs(t.Context()), tc.ours(t.Context())
			action, _, _ := strings.Cut(name, " ")
			last := strings.HasSuffix(name, "that is there")
			want, got := theirs.of(action, last), ours.of(action, last)
			if want == nil {
				t.Fatalf("the SDK sent %v", theirs.sent)
			}
			if want["X-Amz-Checksum-Sha256"] == nil { // which S3 does not need here
				delete(got, "X-Amz-Checksum-Sha256")
			}
			if got["ClientToken"] == nil {
				delete(want, "ClientToken") // the SDK adds a random one
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-the SDK +the provider:\n%s", d)
			}
		})
	}
}

// TestPresignedURLs: a URL that the provider signs is that of the SDK, but for the time and the signature.
func TestPresignedURLs(t *testing.T) {
	c := awstest.New(awstest.Options{})
	place := placeOf(t, c.Client(), c.Region(), api.IdentityReference{Kind: api.ControllerIdentity, Name: api.DefaultIdentity})
	ours := must[string](t)(place.Presigned(t.Context(), "user-data", "fairlead/a/b", time.Hour))
	theirs, err := s3.NewPresignClient(s3.NewFromConfig(config(c))).PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("user-data"), Key: aws.String("fairlead/a/b")}, s3.WithPresignExpires(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	plain := func(text string) string {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		for _, name := range []string{"x-id", "X-Amz-Checksum-Mode", "X-Amz-Date", "X-Amz-Signature"} {
			if strings.HasPrefix(name, "X-Amz-D") && !q.Has(name) {
				t.Errorf("%s has no %s", text, name)
			}
			q.Del(name)
		}
		u.RawQuery = q.Encode()
		return u.String()
	}
	if d := cmp.Diff(plain(theirs.URL), plain(ours)); d != "" {
		t.Errorf("-the SDK +the provider:\n%s", d)
	}
}

// TestEachAction: each action in the source of the client is held to the SDK.
func TestEachAction(t *testing.T) {
	names := func(pattern, expression string) map[string]bool {
		out := make(map[string]bool)
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(string(must[[]byte](t)(os.ReadFile(file))), -1) {
				out[m[1]] = true
			}
		}
		return out
	}
	const verbs = `(?:Describe|Create|Delete|Get|List|Put|Run|Terminate|Attach|Detach|Allocate|Release|Associate|Disassociate|Authorize|Revoke|Modify|Register|Deregister|Configure|Assume|Update|Add|Tag)[A-Z]\w+`
	held := names("*_test.go", `"(`+verbs+`)[a-z ]*": \{`)
	for action := range names("../../cloud/*.go", `[^:]"(`+verbs+`)"`) {
		if !held[action] {
			t.Errorf("%s is not compared with the SDK", action)
		}
	}
	if len(held) < 80 {
		t.Errorf("%d actions are compared", len(held))
	}
}
