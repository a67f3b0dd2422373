package awstest

import (
	"fmt"
	"maps"
	"strings"
)

func (c *Cloud) listIdentityProviders(r request) (any, error) {
	if _, err := c.cluster(r); err != nil {
		return nil, err
	}
	list := []any{}
	for _, t := range c.all(IdentityProviders) {
		if t.Attr["cluster"] == r.Get("cluster") {
			list = append(list, map[string]any{"type": "oidc", "name": t.Attr["name"]})
		}
	}
	return map[string]any{"identityProviderConfigs": list}, nil
}

// identityProvider returns the one that a request names.
func (c *Cloud) identityProvider(r request) (*Thing, error) {
	if _, err := c.cluster(r); err != nil {
		return nil, err
	}
	in := mapping(r.body, "identityProviderConfig")
	for _, t := range c.all(IdentityProviders) {
		if t.Attr["cluster"] == r.Get("cluster") && t.Attr["name"] == in["name"] && in["type"] == "oidc" {
			return t, nil
		}
	}
	return nil, unfound("Identity provider config is not associated with the cluster")
}

func (c *Cloud) describeIdentityProvider(r request) (any, error) {
	t, err := c.identityProvider(r)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"identityProviderConfigArn": t.ID, "clusterName": t.Attr["cluster"], "status": t.Attr["status"], "tags": t.Tags}
	for field, value := range t.Attr {
		if name, ok := strings.CutPrefix(field, "oidc."); ok {
			out[name] = value
		}
	}
	if claims := t.raw("claims"); len(claims) > 0 {
		out["requiredClaims"] = claims
	}
	return map[string]any{"identityProviderConfig": map[string]any{"oidc": out}}, nil
}

// associateIdentityProvider takes one for a cluster. The cluster updates meanwhile.
func (c *Cloud) associateIdentityProvider(r request) (any, error) {
	k, err := c.idle(r)
	if err != nil {
		return nil, err
	}
	if c.find(IdentityProviders, "cluster", k.Attr["name"]) != nil {
		return nil, bad("InvalidRequestException", "Identity provider config of type oidc is already associated with this cluster")
	}
	in := mapping(r.body, "oidc")
	name, _ := in["identityProviderConfigName"].(string)
	issuer, _ := in["issuerUrl"].(string)
	if client, _ := in["clientId"].(string); name == "" || client == "" || !strings.HasPrefix(issuer, "https://") || strings.Contains(issuer, "missing") {
		return nil, bad("InvalidParameterException", "Issuer url %s of %q cannot be used for client %q", issuer, name, client)
	}
	t := c.addNamed(IdentityProviders, fmt.Sprintf("arn:aws:eks:%s:%s:identityproviderconfig/%s/oidc/%s/%x", c.o.Region, c.o.Account, k.Attr["name"], name, c.n+1),
		map[string]string{"cluster": k.Attr["name"], "name": name}, nil)
	maps.Copy(t.Tags, tagsOf(r.body, "tags"))
	for field, value := range in {
		if s, ok := value.(string); ok {
			t.Attr["oidc."+field] = s
		}
	}
	if in["requiredClaims"] != nil {
		t.put("claims", in["requiredClaims"])
	}
	t.begin(creating, c.o.Delays.Update, nil)
	k.begin(updating, c.o.Delays.Update, nil)
	return updateOf("AssociateIdentityProviderConfig"), nil
}

func (c *Cloud) disassociateIdentityProvider(r request) (any, error) {
	t, err := c.identityProvider(r)
	if err != nil {
		return nil, err
	}
	k, err := c.idle(r)
	if err != nil {
		return nil, err
	}
	t.begin(deleting, c.o.Delays.Update, nil)
	k.begin(updating, c.o.Delays.Update, nil)
	return updateOf("DisassociateIdentityProviderConfig"), nil
}
