package azure

import (
	"context"
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

var _ providers.SecretAnswerer = (*Provider)(nil)

// A cloudConfig is azure.json, the configuration of the cloud controller manager and of the drivers for volumes.
// Source: Kubernetes cloud provider Azure, documentation, "Cluster config".
type cloudConfig struct {
	Cloud                string `json:"cloud"`
	TenantID             string `json:"tenantId"`
	SubscriptionID       string `json:"subscriptionId"`
	ClientID             string `json:"aadClientId,omitempty"`
	ClientSecret         string `json:"aadClientSecret,omitempty"`
	ResourceGroup        string `json:"resourceGroup"`
	SecurityGroupName    string `json:"securityGroupName"`
	SecurityGroupGroup   string `json:"securityGroupResourceGroup"`
	Location             string `json:"location"`
	EdgeType             string `json:"extendedLocationType,omitempty"`
	EdgeName             string `json:"extendedLocationName,omitempty"`
	VMType               string `json:"vmType"`
	VNetName             string `json:"vnetName"`
	VNetGroup            string `json:"vnetResourceGroup"`
	SubnetName           string `json:"subnetName"`
	RouteTableName       string `json:"routeTableName,omitempty"`
	LoadBalancerSKU      string `json:"loadBalancerSku"`
	LoadBalancerName     string `json:"loadBalancerName,omitempty"` // of Services: an interface is behind one public load balancer alone
	MaximumRuleCount     int    `json:"maximumLoadBalancerRuleCount"`
	UseManagedIdentity   bool   `json:"useManagedIdentityExtension"`
	UserAssignedIdentity string `json:"userAssignedIdentityID"`
	UseInstanceMetadata  bool   `json:"useInstanceMetadata"`

	overrides map[string]any // that Git sets
}

// text returns azure.json.
func (c cloudConfig) text() ([]byte, error) {
	if len(c.overrides) == 0 {
		return json.MarshalIndent(c, "", "  ")
	}
	all := plain(c)
	maps.Copy(all, c.overrides)
	return json.MarshalIndent(all, "", "  ")
}

// overridesOf returns what Git sets in azure.json, whose names are those of Git.
// Source: Kubernetes cloud provider Azure, documentation, "Cluster config", and CAPZ, controllers/helpers.go.
func overridesOf(o *api.CloudProviderOverrides) map[string]any {
	out := make(map[string]any)
	if o == nil {
		return out
	}
	set := func(into map[string]any, of any) {
		for k, v := range plain(of) {
			if text, ok := v.(string); ok { // a quantity is a number there
				q := resource.MustParse(text)
				v = json.Number(q.AsDec().String())
			}
			into[k] = v
		}
	}
	if o.BackOffs != nil {
		set(out, o.BackOffs)
	}
	for _, r := range o.RateLimits {
		into := out
		if r.Name != api.DefaultRateLimit {
			into = make(map[string]any)
			out[r.Name] = into
		}
		set(into, r.Config)
	}
	return out
}

// mostBalancerRules is how many rules a load balancer has at most.
const mostBalancerRules = 250

// AnswerSecrets implements providers.SecretAnswerer: azure.json for the machines of p. A server without an identity of
// its own has the password of the service principal in it, or no file if there is no password, and a worker nothing secret.
func (p *Provider) AnswerSecrets(ctx context.Context, c *fleet.Cluster, pool fleet.Pool) (map[string]fleet.SecretData, error) {
	op := "write azure.json for " + c.Key.String()
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, err
	}
	at, err := p.placeOf(ctx, c, spec)
	if err != nil {
		return nil, arm.WrapLook(op, err)
	}
	v := &view{p: p, c: c, spec: spec, place: at}
	out := cloudConfig{
		Cloud: spec.AzureEnvironment, TenantID: at.Tenant(), SubscriptionID: spec.SubscriptionID, ResourceGroup: at.group, SecurityGroupGroup: at.group,
		Location: spec.Location, VMType: "vmss", VNetName: v.vnetName(), VNetGroup: at.group, LoadBalancerSKU: "Standard", MaximumRuleCount: mostBalancerRules, UseInstanceMetadata: true,
		overrides: overridesOf(spec.CloudProviderConfigOverrides),
	}
	if e := v.edge(); e != nil {
		out.EdgeType, out.EdgeName = e.Type, e.Name
	}
	for _, o := range v.outbounds() {
		if o.role == fleet.RoleWorker {
			out.LoadBalancerName = o.name
		}
	}
	if g := spec.NetworkSpec.VNet.ResourceGroup; g != "" {
		out.VNetGroup, out.SecurityGroupGroup = g, g
	}
	for i := range spec.NetworkSpec.Subnets {
		if s := &spec.NetworkSpec.Subnets[i]; s.Role != api.ControlPlaneSubnet {
			if out.SubnetName, out.SecurityGroupName = v.subnetName(s), v.groupName(s); s.RouteTable != nil {
				out.RouteTableName = s.RouteTable.Name
			}
			break
		}
	}
	answers := make(map[string]fleet.SecretData)
	for _, other := range append(c.Pools(), pool) { // manifests of a pool may refer to the Secret of another's template
		name := api.JSONSecret(other.Infrastructure.Name)
		data, err := at.answer(ctx, out, other, pool.Role)
		if err == nil {
			answers[name] = data
		} else if other.Infrastructure.Name == pool.Infrastructure.Name {
			return nil, arm.WrapLook(op, err)
		}
	}
	return answers, nil
}

// answer returns azure.json as it is for machines of a pool, for a machine of a role.
func (s *site) answer(ctx context.Context, out cloudConfig, pool fleet.Pool, role fleet.Role) (fleet.SecretData, error) {
	m, err := api.ReadMachine(pool.Infrastructure)
	if err != nil {
		return nil, err
	}
	if m.Identity == api.UserAssigned {
		out.UseManagedIdentity = true
		if out.UserAssignedIdentity, err = s.clientOf(ctx, m.UserAssignedIdentities[0].ProviderID); err != nil {
			return nil, err
		}
	} else {
		out.ClientID, out.ClientSecret = s.Principal()
	}
	password := out.ClientSecret != ""
	server, err := out.text()
	if err != nil {
		return nil, err
	}
	out.ClientID, out.ClientSecret = "", ""
	worker, err := out.text()
	if err != nil {
		return nil, err
	}
	if role != fleet.RoleControlPlane { // whatever key its manifest names
		server = worker
	}
	data := fleet.SecretData{api.ControlPlaneJSON: fleet.NewSecret(server), api.WorkerJSON: fleet.NewSecret(worker)}
	if role == fleet.RoleControlPlane && !out.UseManagedIdentity && !password {
		delete(data, api.ControlPlaneJSON) // a cloud controller manager could not log in with it
	}
	return data, nil
}

// clientOf returns the client id of a managed identity.
func (s *site) clientOf(ctx context.Context, id string) (string, error) {
	var is arm.Resource[arm.ManagedIdentity]
	if err := s.Get(ctx, id, &is); err != nil {
		return "", arm.Named(err)
	}
	return is.Properties.ClientID, nil
}
