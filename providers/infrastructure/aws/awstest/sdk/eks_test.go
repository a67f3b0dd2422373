package sdk_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A restRecorder keeps the last request to EKS.
type restRecorder struct {
	http.RoundTripper
	line string
	body map[string]any
}

func (r *restRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	data := []byte{}
	if req.Body != nil {
		var err error
		if data, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	r.line, r.body = req.Method+" "+strings.TrimPrefix(req.URL.Path, "/")+" "+req.URL.Query().Encode(), nil
	_ = json.Unmarshal(data, &r.body)
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(strings.NewReader(string(data)))
	return r.RoundTripper.RoundTrip(again)
}

// TestRequestsToEKS: what the provider's client sends is what the SDK's client would send. Whether the cloud takes it
// does not matter.
func TestRequestsToEKS(t *testing.T) {
	c := awstest.New(awstest.Options{})
	theirs, ours := &restRecorder{RoundTripper: c.Client()}, &restRecorder{RoundTripper: c.Client()}
	cfg := config(c)
	cfg.HTTPClient = &http.Client{Transport: theirs}
	x := eks.NewFromConfig(cfg)
	place, err := cloud.NewAccounts(cloud.Options{Base: ours, Own: credentials.NewStaticCredentialsProvider(awstest.AccessKey, awstest.SecretKey, "")}, nil).
		Place(t.Context(), &fleet.Cluster{}, &api.AWSClusterSpec{Region: c.Region(), IdentityRef: &api.IdentityReference{Kind: api.ControllerIdentity, Name: api.DefaultIdentity}})
	if err != nil {
		t.Fatal(err)
	}
	const role, policy = "arn:aws:iam::1:role/a/b", "arn:aws:eks::aws:cluster-access-policy/A"
	k, g := aws.String("prod_eu-1"), aws.String("pool")
	tags := map[string]string{"a": "1"}
	encryption := cloud.Encryption{Resources: []string{"secrets"}}
	encryption.Provider.Key = "arn:k"
	theirEncryption := []types.EncryptionConfig{{Resources: []string{"secrets"}, Provider: &types.Provider{KeyArn: aws.String("arn:k")}}}
	vpc := cloud.VPCConfig{Subnets: []string{"subnet-1", "subnet-2"}, Public: aws.Bool(true), Private: aws.Bool(false), PublicCIDRs: []string{"0.0.0.0/0"}}
	theirVPC := &types.VpcConfigRequest{SubnetIds: vpc.Subnets, EndpointPublicAccess: vpc.Public, EndpointPrivateAccess: vpc.Private, PublicAccessCidrs: vpc.PublicCIDRs}
	ourPolicy := cloud.AccessPolicy{ARN: policy}
	ourPolicy.Scope.Type, ourPolicy.Scope.Namespaces = "namespace", []string{"a"}
	update := cloud.NodegroupUpdate{Scaling: &cloud.Scaling{Min: aws.Int(1), Max: aws.Int(3), Desired: aws.Int(2)}, Update: &cloud.NodeUpdate{Percentage: aws.Int(30)}, Repair: &cloud.NodeRepair{Enabled: true}}
	update.Labels.Set, update.Labels.Remove = tags, []string{"b"}
	update.Taints.Set, update.Taints.Remove = []cloud.NodeTaint{{Key: "a", Value: "v", Effect: "NO_SCHEDULE"}}, []cloud.NodeTaint{{Key: "b", Effect: "NO_EXECUTE"}}
	for name, tc := range map[string]struct {
		theirs, ours func(ctx context.Context) error
	}{
		"ListClusters": {
			func(ctx context.Context) error {
				return errOf(x.ListClusters(ctx, &eks.ListClustersInput{MaxResults: aws.Int32(100)}))
			},
			func(ctx context.Context) error { return errOf(place.ManagedClusters(ctx)) },
		},
		"DescribeCluster": {
			func(ctx context.Context) error {
				return errOf(x.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: k}))
			},
			func(ctx context.Context) error { return errOf(place.ManagedCluster(ctx, *k)) },
		},
		"CreateCluster": {
			func(ctx context.Context) error {
				return errOf(x.CreateCluster(ctx, &eks.CreateClusterInput{
					Name: k, RoleArn: aws.String(role), Version: aws.String("1.34"), ResourcesVpcConfig: theirVPC, Tags: tags, EncryptionConfig: theirEncryption, BootstrapSelfManagedAddons: aws.Bool(false),
					Logging:       &types.Logging{ClusterLogging: []types.LogSetup{{Types: []types.LogType{"api", "audit"}, Enabled: aws.Bool(true)}}},
					AccessConfig:  &types.CreateAccessConfigRequest{AuthenticationMode: "API", BootstrapClusterCreatorAdminPermissions: aws.Bool(true)},
					UpgradePolicy: &types.UpgradePolicyRequest{SupportType: "STANDARD"}, KubernetesNetworkConfig: &types.KubernetesNetworkConfigRequest{ServiceIpv4Cidr: aws.String("172.30.0.0/16"), IpFamily: "ipv4"},
				}))
			},
			func(ctx context.Context) error {
				return place.CreateManagedCluster(ctx, cloud.NewCluster{
					Name: *k, Role: role, Version: "1.34", VPC: vpc, Tags: tags, Encryption: []cloud.Encryption{encryption}, Addons: aws.Bool(false),
					Logging: &cloud.Logging{Setups: []cloud.LogSetup{{Types: []string{"api", "audit"}, Enabled: true}}}, Access: cloud.AccessConfig{Mode: "API", CreatorAdmin: aws.Bool(true)},
					Upgrades: &cloud.UpgradePolicy{Support: "STANDARD"}, Services: &cloud.ServiceNetwork{Range: "172.30.0.0/16", Family: "ipv4"},
				})
			},
		},
		"ListFargateProfiles": {
			func(ctx context.Context) error {
				return errOf(x.ListFargateProfiles(ctx, &eks.ListFargateProfilesInput{ClusterName: k, MaxResults: aws.Int32(100)}))
			},
			func(ctx context.Context) error { return errOf(place.FargateProfiles(ctx, *k)) },
		},
		"DescribeFargateProfile": {
			func(ctx context.Context) error {
				return errOf(x.DescribeFargateProfile(ctx, &eks.DescribeFargateProfileInput{ClusterName: k, FargateProfileName: g}))
			},
			func(ctx context.Context) error { return errOf(place.FargateProfile(ctx, *k, *g)) },
		},
		"CreateFargateProfile": {
			func(ctx context.Context) error {
				return errOf(x.CreateFargateProfile(ctx, &eks.CreateFargateProfileInput{
					ClusterName: k, FargateProfileName: g, PodExecutionRoleArn: aws.String(role), Subnets: vpc.Subnets, Tags: tags,
					Selectors: []types.FargateProfileSelector{{Namespace: aws.String("a"), Labels: tags}, {Namespace: aws.String("b-*")}},
				}))
			},
			func(ctx context.Context) error {
				return place.CreateFargateProfile(ctx, *k, cloud.FargateProfile{
					Name: *g, Role: role, Subnets: vpc.Subnets, Tags: tags, Selectors: []cloud.FargateSelector{{Namespace: "a", Labels: tags}, {Namespace: "b-*"}},
				})
			},
		},
		"DeleteFargateProfile": {
			func(ctx context.Context) error {
				return errOf(x.DeleteFargateProfile(ctx, &eks.DeleteFargateProfileInput{ClusterName: k, FargateProfileName: g}))
			},
			func(ctx context.Context) error { return place.DeleteFargateProfile(ctx, *k, *g) },
		},
		"ListIdentityProviderConfigs": {
			func(ctx context.Context) error {
				return errOf(x.ListIdentityProviderConfigs(ctx, &eks.ListIdentityProviderConfigsInput{ClusterName: k, MaxResults: aws.Int32(100)}))
			},
			func(ctx context.Context) error { return errOf(place.IdentityProviders(ctx, *k)) },
		},
		"DescribeIdentityProviderConfig": {
			func(ctx context.Context) error {
				return errOf(x.DescribeIdentityProviderConfig(ctx, &eks.DescribeIdentityProviderConfigInput{ClusterName: k, IdentityProviderConfig: &types.IdentityProviderConfig{Name: g, Type: aws.String("oidc")}}))
			},
			func(ctx context.Context) error { return errOf(place.IdentityProvider(ctx, *k, *g)) },
		},
		"AssociateIdentityProviderConfig": {
			func(ctx context.Context) error {
				return errOf(x.AssociateIdentityProviderConfig(ctx, &eks.AssociateIdentityProviderConfigInput{ClusterName: k, Tags: tags, Oidc: &types.OidcIdentityProviderConfigRequest{
					IdentityProviderConfigName: g, IssuerUrl: aws.String("https://a"), ClientId: aws.String("b"), UsernameClaim: aws.String("c"), UsernamePrefix: aws.String("d"),
					GroupsClaim: aws.String("e"), GroupsPrefix: aws.String("f"), RequiredClaims: tags,
				}}))
			},
			func(ctx context.Context) error {
				return place.AssociateIdentityProvider(ctx, *k, cloud.IdentityProvider{
					Name: *g, Issuer: "https://a", Client: "b", UsernameClaim: "c", UsernamePrefix: "d", GroupsClaim: "e", GroupsPrefix: "f", RequiredClaims: tags, Tags: tags,
				})
			},
		},
		"DisassociateIdentityProviderConfig": {
			func(ctx context.Context) error {
				return errOf(x.DisassociateIdentityProviderConfig(ctx, &eks.DisassociateIdentityProviderConfigInput{ClusterName: k, IdentityProviderConfig: &types.IdentityProviderConfig{Name: g, Type: aws.String("oidc")}}))
			},
			func(ctx context.Context) error { return place.DisassociateIdentityProvider(ctx, *k, *g) },
		},
		"DeleteCluster": {
			func(ctx context.Context) error { return errOf(x.DeleteCluster(ctx, &eks.DeleteClusterInput{Name: k})) },
			func(ctx context.Context) error { return place.DeleteManagedCluster(ctx, *k) },
		},
		"UpdateClusterVersion": {
			func(ctx context.Context) error {
				return errOf(x.UpdateClusterVersion(ctx, &eks.UpdateClusterVersionInput{Name: k, Version: aws.String("1.35")}))
			},
			func(ctx context.Context) error { return place.UpdateVersion(ctx, *k, "1.35") },
		},
		"UpdateClusterConfig of the endpoint": {
			func(ctx context.Context) error {
				return errOf(x.UpdateClusterConfig(ctx, &eks.UpdateClusterConfigInput{Name: k, ResourcesVpcConfig: theirVPC}))
			},
			func(ctx context.Context) error {
				return place.UpdateConfig(ctx, *k, cloud.ConfigUpdate{VPC: &vpc})
			},
		},
		"UpdateClusterConfig of the rest": {
			func(ctx context.Context) error {
				return errOf(x.UpdateClusterConfig(ctx, &eks.UpdateClusterConfigInput{
					Name: k, Logging: &types.Logging{ClusterLogging: []types.LogSetup{{Types: []types.LogType{"api"}, Enabled: aws.Bool(false)}}},
					AccessConfig: &types.UpdateAccessConfigRequest{AuthenticationMode: "API"}, UpgradePolicy: &types.UpgradePolicyRequest{SupportType: "STANDARD"},
				}))
			},
			func(ctx context.Context) error {
				return place.UpdateConfig(ctx, *k, cloud.ConfigUpdate{
					Logging: &cloud.Logging{Setups: []cloud.LogSetup{{Types: []string{"api"}}}}, Access: &cloud.AccessConfig{Mode: "API"}, Upgrades: &cloud.UpgradePolicy{Support: "STANDARD"},
				})
			},
		},
		"AssociateEncryptionConfig": {
			func(ctx context.Context) error {
				return errOf(x.AssociateEncryptionConfig(ctx, &eks.AssociateEncryptionConfigInput{ClusterName: k, EncryptionConfig: theirEncryption}))
			},
			func(ctx context.Context) error { return place.Encrypt(ctx, *k, []cloud.Encryption{encryption}) },
		},
		"TagResource": {
			func(ctx context.Context) error {
				return errOf(x.TagResource(ctx, &eks.TagResourceInput{ResourceArn: aws.String("arn:aws:eks:r:1:cluster/a"), Tags: tags}))
			},
			func(ctx context.Context) error { return place.TagManaged(ctx, "arn:aws:eks:r:1:cluster/a", tags) },
		},
		"UntagResource": {
			func(ctx context.Context) error {
				return errOf(x.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: aws.String("arn:aws:eks:r:1:cluster/a"), TagKeys: []string{"a", "b/c"}}))
			},
			func(ctx context.Context) error {
				return place.UntagManaged(ctx, "arn:aws:eks:r:1:cluster/a", []string{"a", "b/c"})
			},
		},
		"ListAccessEntries": {
			func(ctx context.Context) error {
				return errOf(x.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{ClusterName: k, MaxResults: aws.Int32(100)}))
			},
			func(ctx context.Context) error { return errOf(place.AccessEntries(ctx, *k)) },
		},
		"DescribeAccessEntry": {
			func(ctx context.Context) error {
				return errOf(x.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: k, PrincipalArn: aws.String(role)}))
			},
			func(ctx context.Context) error { return errOf(place.AccessEntry(ctx, *k, role)) },
		},
		"CreateAccessEntry": {
			func(ctx context.Context) error {
				return errOf(x.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: k, PrincipalArn: aws.String(role), KubernetesGroups: []string{"g"}, Username: aws.String("u"), Type: aws.String("STANDARD"), Tags: tags}))
			},
			func(ctx context.Context) error {
				return place.CreateAccessEntry(ctx, *k, cloud.AccessEntry{Principal: role, Groups: []string{"g"}, Username: "u", Type: "STANDARD", Tags: tags})
			},
		},
		"UpdateAccessEntry": {
			func(ctx context.Context) error {
				return errOf(x.UpdateAccessEntry(ctx, &eks.UpdateAccessEntryInput{ClusterName: k, PrincipalArn: aws.String(role), KubernetesGroups: []string{}, Username: aws.String("u")}))
			},
			func(ctx context.Context) error {
				return place.UpdateAccessEntry(ctx, *k, cloud.AccessEntry{Principal: role, Username: "u"})
			},
		},
		"DeleteAccessEntry": {
			func(ctx context.Context) error {
				return errOf(x.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: k, PrincipalArn: aws.String(role)}))
			},
			func(ctx context.Context) error { return place.DeleteAccessEntry(ctx, *k, role) },
		},
		"ListAssociatedAccessPolicies": {
			func(ctx context.Context) error {
				return errOf(x.ListAssociatedAccessPolicies(ctx, &eks.ListAssociatedAccessPoliciesInput{ClusterName: k, PrincipalArn: aws.String(role), MaxResults: aws.Int32(100)}))
			},
			func(ctx context.Context) error { return errOf(place.AccessPolicies(ctx, *k, role)) },
		},
		"AssociateAccessPolicy": {
			func(ctx context.Context) error {
				return errOf(x.AssociateAccessPolicy(ctx, &eks.AssociateAccessPolicyInput{ClusterName: k, PrincipalArn: aws.String(role), PolicyArn: aws.String(policy), AccessScope: &types.AccessScope{Type: "namespace", Namespaces: []string{"a"}}}))
			},
			func(ctx context.Context) error { return place.SetAccessPolicy(ctx, *k, role, ourPolicy) },
		},
		"DisassociateAccessPolicy": {
			func(ctx context.Context) error {
				return errOf(x.DisassociateAccessPolicy(ctx, &eks.DisassociateAccessPolicyInput{ClusterName: k, PrincipalArn: aws.String(role), PolicyArn: aws.String(policy)}))
			},
			func(ctx context.Context) error { return place.DropAccessPolicy(ctx, *k, role, policy) },
		},
		"ListNodegroups": {
			func(ctx context.Context) error {
				return errOf(x.ListNodegroups(ctx, &eks.ListNodegroupsInput{ClusterName: k, MaxResults: aws.Int32(100)}))
			},
			func(ctx context.Context) error { return errOf(place.Nodegroups(ctx, *k)) },
		},
		"DescribeNodegroup": {
			func(ctx context.Context) error {
				return errOf(x.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: k, NodegroupName: g}))
			},
			func(ctx context.Context) error { return errOf(place.Nodegroup(ctx, *k, *g)) },
		},
		"CreateNodegroup": {
			func(ctx context.Context) error {
				return errOf(x.CreateNodegroup(ctx, &eks.CreateNodegroupInput{
					ClusterName: k, NodegroupName: g, NodeRole: aws.String(role), Subnets: []string{"subnet-1"}, AmiType: "AL2023_x86_64_STANDARD", CapacityType: "SPOT", DiskSize: aws.Int32(50),
					InstanceTypes: []string{"m6i.large"}, Labels: tags, Tags: tags, Version: aws.String("1.34"), ReleaseVersion: aws.String("1.34.1-1"),
					RemoteAccess: &types.RemoteAccessConfig{Ec2SshKey: aws.String("ops"), SourceSecurityGroups: []string{"sg-1"}}, ScalingConfig: &types.NodegroupScalingConfig{MinSize: aws.Int32(0), MaxSize: aws.Int32(3), DesiredSize: aws.Int32(0)},
					Taints: []types.Taint{{Key: aws.String("a"), Value: aws.String("v"), Effect: "NO_SCHEDULE"}}, UpdateConfig: &types.NodegroupUpdateConfig{MaxUnavailable: aws.Int32(2)}, NodeRepairConfig: &types.NodeRepairConfig{Enabled: aws.Bool(true)},
				}))
			},
			func(ctx context.Context) error {
				return place.CreateNodegroup(ctx, *k, cloud.Nodegroup{
					Name: *g, Role: role, Subnets: []string{"subnet-1"}, Image: "AL2023_x86_64_STANDARD", Market: "SPOT", DiskSize: 50, Types: []string{"m6i.large"}, Labels: tags, Tags: tags, Version: "1.34",
					Release: "1.34.1-1", Remote: &cloud.RemoteAccess{Key: "ops", Groups: []string{"sg-1"}}, Scaling: cloud.Scaling{Min: aws.Int(0), Max: aws.Int(3), Desired: aws.Int(0)},
					Taints: []cloud.NodeTaint{{Key: "a", Value: "v", Effect: "NO_SCHEDULE"}}, Update: &cloud.NodeUpdate{Unavailable: aws.Int(2)}, Repair: &cloud.NodeRepair{Enabled: true},
				})
			},
		},
		"UpdateNodegroupConfig": {
			func(ctx context.Context) error {
				return errOf(x.UpdateNodegroupConfig(ctx, &eks.UpdateNodegroupConfigInput{
					ClusterName: k, NodegroupName: g, Labels: &types.UpdateLabelsPayload{AddOrUpdateLabels: tags, RemoveLabels: []string{"b"}},
					Taints: &types.UpdateTaintsPayload{
						AddOrUpdateTaints: []types.Taint{{Key: aws.String("a"), Value: aws.String("v"), Effect: "NO_SCHEDULE"}}, RemoveTaints: []types.Taint{{Key: aws.String("b"), Effect: "NO_EXECUTE"}},
					},
					ScalingConfig: &types.NodegroupScalingConfig{MinSize: aws.Int32(1), MaxSize: aws.Int32(3), DesiredSize: aws.Int32(2)}, UpdateConfig: &types.NodegroupUpdateConfig{MaxUnavailablePercentage: aws.Int32(30)},
					NodeRepairConfig: &types.NodeRepairConfig{Enabled: aws.Bool(true)},
				}))
			},
			func(ctx context.Context) error { return place.UpdateNodegroup(ctx, *k, *g, update) },
		},
		"UpdateNodegroupVersion": {
			func(ctx context.Context) error {
				return errOf(x.UpdateNodegroupVersion(ctx, &eks.UpdateNodegroupVersionInput{ClusterName: k, NodegroupName: g, Version: aws.String("1.34"), ReleaseVersion: aws.String("r")}))
			},
			func(ctx context.Context) error {
				return place.UpgradeNodegroup(ctx, *k, *g, cloud.NodegroupUpgrade{Version: "1.34", Release: "r"})
			},
		},
		"UpdateNodegroupVersion of a launch template": {
			func(ctx context.Context) error {
				return errOf(x.UpdateNodegroupVersion(ctx, &eks.UpdateNodegroupVersionInput{ClusterName: k, NodegroupName: g, LaunchTemplate: &types.LaunchTemplateSpecification{Id: aws.String("lt-1"), Version: aws.String("2")}}))
			},
			func(ctx context.Context) error {
				return place.UpgradeNodegroup(ctx, *k, *g, cloud.NodegroupUpgrade{Template: &cloud.TemplateRef{ID: "lt-1", Version: "2"}})
			},
		},
		"CreateNodegroup with a launch template": {
			func(ctx context.Context) error {
				return errOf(x.CreateNodegroup(ctx, &eks.CreateNodegroupInput{
					ClusterName: k, NodegroupName: g, NodeRole: aws.String(role), Subnets: []string{"subnet-1"}, ScalingConfig: &types.NodegroupScalingConfig{MinSize: aws.Int32(0), MaxSize: aws.Int32(3), DesiredSize: aws.Int32(0)},
					LaunchTemplate: &types.LaunchTemplateSpecification{Id: aws.String("lt-1"), Version: aws.String("2")},
				}))
			},
			func(ctx context.Context) error {
				return place.CreateNodegroup(ctx, *k, cloud.Nodegroup{
					Name: *g, Role: role, Subnets: []string{"subnet-1"}, Scaling: cloud.Scaling{Min: aws.Int(0), Max: aws.Int(3), Desired: aws.Int(0)}, Template: &cloud.TemplateRef{ID: "lt-1", Version: "2"},
				})
			},
		},
		"ListAddons": {
			func(ctx context.Context) error {
				return errOf(x.ListAddons(ctx, &eks.ListAddonsInput{ClusterName: k, MaxResults: aws.Int32(100)}))
			},
			func(ctx context.Context) error { return errOf(place.Addons(ctx, *k)) },
		},
		"DescribeAddon": {
			func(ctx context.Context) error {
				return errOf(x.DescribeAddon(ctx, &eks.DescribeAddonInput{ClusterName: k, AddonName: g}))
			},
			func(ctx context.Context) error { return errOf(place.Addon(ctx, *k, *g)) },
		},
		"CreateAddon": {
			func(ctx context.Context) error {
				return errOf(x.CreateAddon(ctx, &eks.CreateAddonInput{
					ClusterName: k, AddonName: g, AddonVersion: aws.String("v1"), ConfigurationValues: aws.String("{}"), ResolveConflicts: "OVERWRITE", ServiceAccountRoleArn: aws.String(role), Tags: tags,
				}))
			},
			func(ctx context.Context) error {
				return place.CreateAddon(ctx, *k, cloud.AddonChange{Name: *g, Version: "v1", Configuration: aws.String("{}"), Conflicts: "OVERWRITE", Role: aws.String(role), Tags: tags})
			},
		},
		"UpdateAddon": {
			func(ctx context.Context) error {
				return errOf(x.UpdateAddon(ctx, &eks.UpdateAddonInput{ClusterName: k, AddonName: g, AddonVersion: aws.String("v2"), ConfigurationValues: aws.String("{}"), ResolveConflicts: "PRESERVE", ServiceAccountRoleArn: aws.String("")}))
			},
			func(ctx context.Context) error {
				return place.UpdateAddon(ctx, *k, *g, cloud.AddonChange{Version: "v2", Configuration: aws.String("{}"), Conflicts: "PRESERVE", Role: aws.String("")})
			},
		},
		"DeleteAddon": {
			func(ctx context.Context) error {
				return errOf(x.DeleteAddon(ctx, &eks.DeleteAddonInput{ClusterName: k, AddonName: g, Preserve: true}))
			},
			func(ctx context.Context) error { return place.DeleteAddon(ctx, *k, *g, true) },
		},
		"DescribeAddonVersions": {
			func(ctx context.Context) error {
				return errOf(x.DescribeAddonVersions(ctx, &eks.DescribeAddonVersionsInput{AddonName: g, KubernetesVersion: aws.String("1.34")}))
			},
			func(ctx context.Context) error { return errOf(place.AddonVersions(ctx, *g, "1.34")) },
		},
		"DeleteNodegroup": {
			func(ctx context.Context) error {
				return errOf(x.DeleteNodegroup(ctx, &eks.DeleteNodegroupInput{ClusterName: k, NodegroupName: g}))
			},
			func(ctx context.Context) error { return place.DeleteNodegroup(ctx, *k, *g) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.Forget()
			theirs.line, ours.line = "", ""
			_, _ = tc.theirs(t.Context()), tc.ours(t.Context())
			action, _, _ := strings.Cut(name, " ")
			if calls := c.Calls(); len(calls) != 2 || calls[0].Action != action || calls[1].Action != action {
				t.Errorf("the cloud takes both for %v", calls)
			}
			if _, ok := ours.body["clientRequestToken"]; !ok {
				delete(theirs.body, "clientRequestToken") // the SDK adds a random one
			}
			if d := cmp.Diff(theirs.line, ours.line) + cmp.Diff(theirs.body, ours.body); d != "" {
				t.Errorf("-the SDK +the provider:\n%s", d)
			}
		})
	}
}

// TestAnswersOfEKS: the SDK reads what the cloud answers, and errors by their names.
func TestAnswersOfEKS(t *testing.T) {
	c := awstest.New(awstest.Options{})
	_, public, private := c.AddVPC("10.0.0.0/16")
	x, ctx := eks.NewFromConfig(config(c)), t.Context()
	name := aws.String("a")
	_, err := x.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: name})
	if got := code(err); got != "ResourceNotFoundException" {
		t.Errorf("no cluster: %v", err)
	}
	must[*eks.CreateClusterOutput](t)(x.CreateCluster(ctx, &eks.CreateClusterInput{
		Name: name, RoleArn: aws.String("arn:aws:iam::1:role/a"), Version: aws.String("1.33"), ResourcesVpcConfig: &types.VpcConfigRequest{SubnetIds: append(public, private...)}, Tags: map[string]string{"a": "1"},
	}))
	k := must[*eks.DescribeClusterOutput](t)(x.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: name})).Cluster
	if k.Status != types.ClusterStatusActive || aws.ToString(k.Version) != "1.33" || aws.ToString(k.Endpoint) == "" || aws.ToString(k.CertificateAuthority.Data) == "" || k.Tags["a"] != "1" ||
		len(k.ResourcesVpcConfig.SubnetIds) != 6 || !k.ResourcesVpcConfig.EndpointPublicAccess || k.AccessConfig.AuthenticationMode != types.AuthenticationModeConfigMap || time.Since(*k.CreatedAt) > time.Hour {
		t.Errorf("the cluster is %+v", k)
	}
	must[*eks.CreateNodegroupOutput](t)(x.CreateNodegroup(ctx, &eks.CreateNodegroupInput{
		ClusterName: name, NodegroupName: name, NodeRole: aws.String("arn:aws:iam::1:role/a"), Subnets: private, ScalingConfig: &types.NodegroupScalingConfig{MinSize: aws.Int32(1), MaxSize: aws.Int32(3), DesiredSize: aws.Int32(2)},
	}))
	g := must[*eks.DescribeNodegroupOutput](t)(x.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: name, NodegroupName: name})).Nodegroup
	if g.Status != types.NodegroupStatusActive || aws.ToInt32(g.ScalingConfig.DesiredSize) != 2 || aws.ToString(g.ReleaseVersion) != "1.33.2-20261101" || len(g.Subnets) != 3 {
		t.Errorf("the node group is %+v", g)
	}
	must[*eks.CreateFargateProfileOutput](t)(x.CreateFargateProfile(ctx, &eks.CreateFargateProfileInput{
		ClusterName: name, FargateProfileName: name, PodExecutionRoleArn: aws.String("arn:aws:iam::1:role/a"), Subnets: private, Selectors: []types.FargateProfileSelector{{Namespace: name}}, Tags: map[string]string{"a": "1"},
	}))
	p := must[*eks.DescribeFargateProfileOutput](t)(x.DescribeFargateProfile(ctx, &eks.DescribeFargateProfileInput{ClusterName: name, FargateProfileName: name})).FargateProfile
	if p.Status != types.FargateProfileStatusActive || len(p.Subnets) != 3 || len(p.Selectors) != 1 || *p.Selectors[0].Namespace != "a" || p.Tags["a"] != "1" {
		t.Errorf("the Fargate profile is %+v", p)
	}
	must[*eks.AssociateIdentityProviderConfigOutput](t)(x.AssociateIdentityProviderConfig(ctx, &eks.AssociateIdentityProviderConfigInput{
		ClusterName: name, Tags: map[string]string{"a": "1"}, Oidc: &types.OidcIdentityProviderConfigRequest{IdentityProviderConfigName: name, IssuerUrl: aws.String("https://a"), ClientId: name, RequiredClaims: map[string]string{"b": "2"}},
	}))
	one := types.IdentityProviderConfig{Name: name, Type: aws.String("oidc")}
	if all := must[*eks.ListIdentityProviderConfigsOutput](t)(x.ListIdentityProviderConfigs(ctx, &eks.ListIdentityProviderConfigsInput{ClusterName: name})).IdentityProviderConfigs; len(all) != 1 || *all[0].Name != "a" || *all[0].Type != "oidc" {
		t.Errorf("identity providers %+v", all)
	}
	o := must[*eks.DescribeIdentityProviderConfigOutput](t)(x.DescribeIdentityProviderConfig(ctx, &eks.DescribeIdentityProviderConfigInput{ClusterName: name, IdentityProviderConfig: &one})).IdentityProviderConfig.Oidc
	if o.Status != types.ConfigStatusActive || *o.IssuerUrl != "https://a" || *o.ClientId != "a" || o.RequiredClaims["b"] != "2" || o.Tags["a"] != "1" {
		t.Errorf("the identity provider is %+v", o)
	}
	_, err = x.DeleteCluster(ctx, &eks.DeleteClusterInput{Name: name})
	if got := code(err); got != "ResourceInUseException" {
		t.Errorf("a cluster with a node group: %v", err)
	}
	_, err = x.UpdateClusterVersion(ctx, &eks.UpdateClusterVersionInput{Name: name, Version: aws.String("1.35")})
	if got := code(err); got != "InvalidParameterException" {
		t.Errorf("two minor versions: %v", err)
	}
}
