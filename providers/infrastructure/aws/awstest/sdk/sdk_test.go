// Package sdk_test drives the double of AWS with the SDK's own clients, and compares with them what the
// provider's client sends. It is a module of its own: to compile the SDK's client of EC2 takes two minutes and 3 GB of memory.
package sdk_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
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
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// config returns a configuration of the SDK that leads to a cloud, and repeats nothing.
func config(c *awstest.Cloud) aws.Config {
	return aws.Config{
		Region: c.Region(), Credentials: credentials.NewStaticCredentialsProvider(awstest.AccessKey, awstest.SecretKey, ""),
		HTTPClient: &http.Client{Transport: c.Client()}, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func code(err error) string {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return ""
}

func tags(k ec2types.ResourceType, pairs ...string) []ec2types.TagSpecification {
	s := ec2types.TagSpecification{ResourceType: k}
	for i := 0; i < len(pairs); i += 2 {
		s.Tags = append(s.Tags, ec2types.Tag{Key: aws.String(pairs[i]), Value: aws.String(pairs[i+1])})
	}
	return []ec2types.TagSpecification{s}
}

// TestNetwork makes a network with the SDK, as the provider does, and takes it down in the order that AWS wants.
func TestNetwork(t *testing.T) {
	c := awstest.New(awstest.Options{Page: 2})
	x, ctx := ec2.NewFromConfig(config(c)), t.Context()
	vpc := must[*ec2.CreateVpcOutput](t)(x.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), TagSpecifications: tags("vpc", "a", "b")})).Vpc
	if *vpc.Tags[0].Value != "b" {
		t.Errorf("VPC has tags %v", vpc.Tags)
	}
	var subnets []string
	for i, zone := range []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"} {
		s := must[*ec2.CreateSubnetOutput](t)(x.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: vpc.VpcId, CidrBlock: aws.String("10.0." + string(rune('0'+i)) + ".0/24"), AvailabilityZone: aws.String(zone)}))
		subnets = append(subnets, *s.Subnet.SubnetId)
	}
	_, err := x.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: vpc.VpcId, CidrBlock: aws.String("10.0.0.0/24")})
	if code(err) != "InvalidSubnet.Conflict" {
		t.Errorf("a subnet twice: %v", err)
	}
	pages := ec2.NewDescribeSubnetsPaginator(x, &ec2.DescribeSubnetsInput{MaxResults: aws.Int32(5)})
	seen := map[string]bool{}
	for pages.HasMorePages() {
		for _, s := range must[*ec2.DescribeSubnetsOutput](t)(pages.NextPage(ctx)).Subnets {
			seen[*s.SubnetId] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("pages have %v", seen)
	}
	gateway := must[*ec2.CreateInternetGatewayOutput](t)(x.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})).InternetGateway
	must[*ec2.AttachInternetGatewayOutput](t)(x.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: gateway.InternetGatewayId, VpcId: vpc.VpcId}))
	address := must[*ec2.AllocateAddressOutput](t)(x.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: "vpc"}))
	nat := must[*ec2.CreateNatGatewayOutput](t)(x.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{SubnetId: &subnets[0], AllocationId: address.AllocationId})).NatGateway
	table := must[*ec2.CreateRouteTableOutput](t)(x.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: vpc.VpcId})).RouteTable
	must[*ec2.CreateRouteOutput](t)(x.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: table.RouteTableId, DestinationCidrBlock: aws.String("0.0.0.0/0"), NatGatewayId: nat.NatGatewayId}))
	join := must[*ec2.AssociateRouteTableOutput](t)(x.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: table.RouteTableId, SubnetId: &subnets[1]}))
	all := must[*ec2.DescribeRouteTablesOutput](t)(x.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{RouteTableIds: []string{*table.RouteTableId}})).RouteTables
	if len(all) != 1 || *all[0].Routes[0].NatGatewayId != *nat.NatGatewayId || *all[0].Associations[0].SubnetId != subnets[1] {
		t.Errorf("route tables: %+v", all)
	}
	for what, err := range map[string]error{
		"subnet with a gateway": errOf(x.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: &subnets[0]})),
		"table in use":          errOf(x.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: table.RouteTableId})),
		"attached gateway":      errOf(x.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: gateway.InternetGatewayId})),
		"mapped addresses":      errOf(x.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: gateway.InternetGatewayId, VpcId: vpc.VpcId})),
		"VPC with subnets":      errOf(x.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: vpc.VpcId})),
	} {
		if code(err) != "DependencyViolation" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := errOf(x.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: address.AllocationId})); code(err) != "InvalidIPAddress.InUse" {
		t.Errorf("address in use: %v", err)
	}
	must[*ec2.DeleteNatGatewayOutput](t)(x.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: nat.NatGatewayId}))
	must[*ec2.ReleaseAddressOutput](t)(x.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: address.AllocationId}))
	must[*ec2.DisassociateRouteTableOutput](t)(x.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: join.AssociationId}))
	must[*ec2.DeleteRouteTableOutput](t)(x.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: table.RouteTableId}))
	must[*ec2.DetachInternetGatewayOutput](t)(x.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: gateway.InternetGatewayId, VpcId: vpc.VpcId}))
	must[*ec2.DeleteInternetGatewayOutput](t)(x.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: gateway.InternetGatewayId}))
	for i := range subnets {
		must[*ec2.DeleteSubnetOutput](t)(x.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: &subnets[i]}))
	}
	must[*ec2.DeleteVpcOutput](t)(x.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: vpc.VpcId}))
	if left := c.Contents(); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestInstances: tokens by zone, lag, capacity, tags at birth and terminated instances, as the SDK sees them.
func TestInstances(t *testing.T) {
	c := awstest.New(awstest.Options{Delays: awstest.Delays{Lag: 50 * time.Millisecond}})
	x, ctx := ec2.NewFromConfig(config(c)), t.Context()
	vpc, _, private := c.AddVPC("10.1.0.0/16")
	group := must[*ec2.CreateSecurityGroupOutput](t)(x.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{VpcId: &vpc, GroupName: aws.String("g"), Description: aws.String("g")}))
	rule := ec2types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(6443), ToPort: aws.Int32(6443), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0"), Description: aws.String("API")}}}
	must[*ec2.AuthorizeSecurityGroupIngressOutput](t)(x.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: group.GroupId, IpPermissions: []ec2types.IpPermission{rule}}))
	if err := errOf(x.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: group.GroupId, IpPermissions: []ec2types.IpPermission{rule}})); code(err) != "InvalidPermission.Duplicate" {
		t.Errorf("a rule twice: %v", err)
	}
	images := must[*ec2.DescribeImagesOutput](t)(x.DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: aws.String("name"), Values: []string{"capa-ami-ubuntu-24.04-?1.34.1-*"}}}})).Images
	if len(images) != 1 {
		t.Fatalf("%d images", len(images))
	}
	in := func(subnet, token string) *ec2.RunInstancesInput {
		return &ec2.RunInstancesInput{
			ImageId: images[0].ImageId, InstanceType: "m6i.large", MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: &subnet, ClientToken: &token,
			SecurityGroupIds: []string{*group.GroupId}, UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("#cloud-config"))), TagSpecifications: tags("instance", "fairlead.dev/fleet", "f"),
		}
	}
	one := must[*ec2.RunInstancesOutput](t)(x.RunInstances(ctx, in(private[0], "t"))).Instances[0]
	again := must[*ec2.RunInstancesOutput](t)(x.RunInstances(ctx, in(private[0], "t"))).Instances[0]
	other := must[*ec2.RunInstancesOutput](t)(x.RunInstances(ctx, in(private[1], "t"))).Instances[0]
	if *one.InstanceId != *again.InstanceId || *one.InstanceId == *other.InstanceId {
		t.Errorf("one token: %s and %s in one zone, %s in another", *one.InstanceId, *again.InstanceId, *other.InstanceId)
	}
	different := in(private[0], "t")
	different.InstanceType = "m6i.xlarge"
	if err := errOf(x.RunInstances(ctx, different)); code(err) != "IdempotentParameterMismatch" {
		t.Errorf("another request with the token: %v", err)
	}
	if err := errOf(x.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{*one.InstanceId}})); code(err) != "InvalidInstanceID.NotFound" {
		t.Errorf("at once: %v", err)
	}
	time.Sleep(60 * time.Millisecond)
	tagged := []ec2types.Filter{{Name: aws.String("tag:fairlead.dev/fleet"), Values: []string{"f"}}}
	if r := must[*ec2.DescribeInstancesOutput](t)(x.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: tagged})).Reservations; len(r) != 2 {
		t.Errorf("%d reservations", len(r))
	}
	c.Fill("eu-central-1c", "")
	if err := errOf(x.RunInstances(ctx, in(private[2], "t"))); code(err) != "InsufficientInstanceCapacity" {
		t.Errorf("without capacity: %v", err)
	}
	dry := in(private[0], "")
	dry.DryRun = aws.Bool(true)
	if err := errOf(x.RunInstances(ctx, dry)); code(err) != "DryRunOperation" {
		t.Errorf("dry run: %v", err)
	}
	must[*ec2.TerminateInstancesOutput](t)(x.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{*one.InstanceId}}))
	r := must[*ec2.DescribeInstancesOutput](t)(x.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{*one.InstanceId}})).Reservations
	if s := r[0].Instances[0].State.Name; s != "terminated" {
		t.Errorf("state %s", s)
	}
	c.Limit("RunInstances", 1, 0)
	_, _ = x.RunInstances(ctx, in(private[0], "u"))
	if err := errOf(x.RunInstances(ctx, in(private[0], "v"))); code(err) != "RequestLimitExceeded" {
		t.Errorf("with an empty bucket: %v", err)
	}
}

// TestBalancers makes both kinds of load balancers.
func TestBalancers(t *testing.T) {
	c := awstest.New(awstest.Options{})
	ctx := t.Context()
	vpc, public, _ := c.AddVPC("10.1.0.0/16")
	x := elbv2.NewFromConfig(config(c))
	made := must[*elbv2.CreateLoadBalancerOutput](t)(x.CreateLoadBalancer(ctx, &elbv2.CreateLoadBalancerInput{
		Name: aws.String("a"), Type: elbv2types.LoadBalancerTypeEnumNetwork, Scheme: "internet-facing", Subnets: public, Tags: []elbv2types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
	})).LoadBalancers[0]
	group := must[*elbv2.CreateTargetGroupOutput](t)(x.CreateTargetGroup(ctx, &elbv2.CreateTargetGroupInput{Name: aws.String("a"), Protocol: "TCP", Port: aws.Int32(6443), VpcId: &vpc})).TargetGroups[0]
	must[*elbv2.CreateListenerOutput](t)(x.CreateListener(ctx, &elbv2.CreateListenerInput{
		LoadBalancerArn: made.LoadBalancerArn, Port: aws.Int32(6443), Protocol: "TCP", DefaultActions: []elbv2types.Action{{Type: "forward", TargetGroupArn: group.TargetGroupArn}},
	}))
	if err := errOf(x.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: group.TargetGroupArn})); code(err) != "ResourceInUse" {
		t.Errorf("target group in use: %v", err)
	}
	if err := errOf(x.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: group.TargetGroupArn, Targets: []elbv2types.TargetDescription{{Id: aws.String("i-1")}}})); code(err) != "InvalidTarget" {
		t.Errorf("a target that does not run: %v", err)
	}
	id := c.AddInstance("x")
	must[*elbv2.RegisterTargetsOutput](t)(x.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: group.TargetGroupArn, Targets: []elbv2types.TargetDescription{{Id: &id}}}))
	health := must[*elbv2.DescribeTargetHealthOutput](t)(x.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: group.TargetGroupArn})).TargetHealthDescriptions
	if len(health) != 1 || *health[0].Target.Id != id {
		t.Errorf("targets: %+v", health)
	}
	described := must[*elbv2.DescribeTagsOutput](t)(x.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: []string{*made.LoadBalancerArn}})).TagDescriptions
	if *described[0].Tags[0].Value != "v" {
		t.Errorf("tags: %+v", described)
	}
	y := elasticloadbalancing.NewFromConfig(config(c))
	old := must[*elasticloadbalancing.CreateLoadBalancerOutput](t)(y.CreateLoadBalancer(ctx, &elasticloadbalancing.CreateLoadBalancerInput{
		LoadBalancerName: aws.String("b"), Subnets: public, Listeners: []elbtypes.Listener{{Protocol: aws.String("TCP"), LoadBalancerPort: 6443, InstancePort: aws.Int32(6443)}},
	}))
	must[*elasticloadbalancing.RegisterInstancesWithLoadBalancerOutput](t)(y.RegisterInstancesWithLoadBalancer(ctx, &elasticloadbalancing.RegisterInstancesWithLoadBalancerInput{
		LoadBalancerName: aws.String("b"), Instances: []elbtypes.Instance{{InstanceId: &id}},
	}))
	all := must[*elasticloadbalancing.DescribeLoadBalancersOutput](t)(y.DescribeLoadBalancers(ctx, &elasticloadbalancing.DescribeLoadBalancersInput{})).LoadBalancerDescriptions
	if len(all) != 1 || *all[0].DNSName != *old.DNSName || *all[0].Instances[0].InstanceId != id {
		t.Errorf("classic load balancers: %+v", all)
	}
}

// TestOthers: secrets, parameters and roles.
func TestOthers(t *testing.T) {
	c := awstest.New(awstest.Options{})
	ctx := t.Context()
	x := secretsmanager.NewFromConfig(config(c))
	in := &secretsmanager.CreateSecretInput{Name: aws.String("n"), SecretBinary: []byte("data"), Tags: []smtypes.Tag{{Key: aws.String("fairlead.dev/fleet"), Value: aws.String("f")}}}
	must[*secretsmanager.CreateSecretOutput](t)(x.CreateSecret(ctx, in))
	list := must[*secretsmanager.ListSecretsOutput](t)(x.ListSecrets(ctx, &secretsmanager.ListSecretsInput{Filters: []smtypes.Filter{{Key: "tag-key", Values: []string{"fairlead.dev/fleet"}}}})).SecretList
	if len(list) != 1 || *list[0].Name != "n" {
		t.Errorf("secrets: %+v", list)
	}
	if got := must[*secretsmanager.GetSecretValueOutput](t)(x.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String("n")})); string(got.SecretBinary) != "data" {
		t.Errorf("secret %q", got.SecretBinary)
	}
	must[*secretsmanager.DeleteSecretOutput](t)(x.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: aws.String("n")}))
	if err := errOf(x.CreateSecret(ctx, in)); code(err) != "InvalidRequestException" {
		t.Errorf("a name that is scheduled for deletion: %v", err)
	}
	c.AddParameter("/ami", "ami-1")
	if got := must[*ssm.GetParameterOutput](t)(ssm.NewFromConfig(config(c)).GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/ami")})); *got.Parameter.Value != "ami-1" {
		t.Errorf("parameter %+v", got.Parameter)
	}
	y := sts.NewFromConfig(config(c))
	role := must[*sts.AssumeRoleOutput](t)(y.AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: aws.String("arn:aws:iam::123456789012:role/a"), RoleSessionName: aws.String("s")}))
	assumed := config(c)
	assumed.Credentials = credentials.NewStaticCredentialsProvider(*role.Credentials.AccessKeyId, *role.Credentials.SecretAccessKey, *role.Credentials.SessionToken)
	if got := must[*sts.GetCallerIdentityOutput](t)(sts.NewFromConfig(assumed).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})); !strings.Contains(*got.Arn, "assumed-role/a/s") {
		t.Errorf("identity %s", *got.Arn)
	}
}
