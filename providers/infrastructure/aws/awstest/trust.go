package awstest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// mostTrusts is how many identity providers of OpenID Connect an account has.
// Source: IAM quotas.
const mostTrusts = 100

// globalRegion is the region in signatures for services that a partition has once.
const globalRegion = "us-east-1"

func (c *Cloud) iam() map[string]action {
	return map[string]action{
		"ListOpenIDConnectProviders":         c.listTrusts,
		"GetOpenIDConnectProvider":           c.showTrust,
		"CreateOpenIDConnectProvider":        c.createTrust,
		"TagOpenIDConnectProvider":           c.tagTrust,
		"UntagOpenIDConnectProvider":         c.untagTrust,
		"AddClientIDToOpenIDConnectProvider": c.addAudience,
		"DeleteOpenIDConnectProvider":        c.deleteTrust,
	}
}

// trust returns one by its ARN. What is new is not found for a while, as IAM is copied to all regions.
func (c *Cloud) trust(r request) (*Thing, error) {
	arn := r.Get("OpenIDConnectProviderArn")
	if strings.HasSuffix(arn, "/") {
		return nil, bad("ValidationError", "Invalid ARN: %s", arn)
	}
	if t := c.get(Trusts, arn); t != nil && time.Since(t.Made) >= c.o.Delays.Lag {
		return t, nil
	}
	return nil, failure{http.StatusNotFound, "NoSuchEntity", "OpenIDConnect Provider not found for arn " + arn}
}

func (c *Cloud) listTrusts(request) (any, error) {
	list := [][]node{}
	for _, t := range c.all(Trusts) {
		if time.Since(t.Made) >= c.o.Delays.Lag {
			list = append(list, texts("Arn", t.ID))
		}
	}
	return []node{items("OpenIDConnectProviderList", "member", list...)}, nil
}

func (c *Cloud) showTrust(r request) (any, error) {
	t, err := c.trust(r)
	if err != nil {
		return nil, err
	}
	audiences := el("ClientIDList")
	for _, a := range t.Sets["audiences"] {
		audiences.kids = append(audiences.kids, text("member", a))
	}
	return []node{text("Url", t.Attr["url"]), audiences, text("CreateDate", t.Made.UTC().Format(time.RFC3339)), tagList(t.Tags)}, nil
}

func (c *Cloud) createTrust(r request) (any, error) {
	issuer, isURL := strings.CutPrefix(r.Get("Url"), "https://")
	arn := fmt.Sprintf("arn:aws:iam::%s:oidc-provider/%s", c.o.Account, issuer)
	switch {
	case !isURL || issuer == "":
		return nil, bad("InvalidInput", "Invalid Open ID Connect Provider URL")
	case c.get(Trusts, arn) != nil:
		return nil, failure{http.StatusConflict, "EntityAlreadyExists", "Provider with url " + r.Get("Url") + " already exists."}
	case len(c.all(Trusts)) >= mostTrusts || c.o.Limits[Trusts] > 0 && len(c.all(Trusts)) >= c.o.Limits[Trusts]:
		return nil, failure{http.StatusConflict, "LimitExceeded", "Cannot exceed quota for OpenIdConnectProvidersPerAccount: 100"}
	case len(r.pairs("Tags.member")) > 50:
		return nil, bad("InvalidInput", "Too many tags")
	}
	t := c.addNamed(Trusts, arn, map[string]string{"url": issuer}, r.pairs("Tags.member"))
	t.Sets["audiences"] = r.list("ClientIDList.member")
	return texts("OpenIDConnectProviderArn", arn), nil
}

func (c *Cloud) tagTrust(r request) (any, error) {
	t, err := c.trust(r)
	if err == nil {
		maps.Copy(t.Tags, r.pairs("Tags.member"))
	}
	return nil, err
}

func (c *Cloud) untagTrust(r request) (any, error) {
	t, err := c.trust(r)
	if err == nil {
		for _, k := range r.list("TagKeys.member") {
			delete(t.Tags, k)
		}
	}
	return nil, err
}

func (c *Cloud) addAudience(r request) (any, error) {
	t, err := c.trust(r)
	if err == nil && !slices.Contains(t.Sets["audiences"], r.Get("ClientID")) {
		t.Sets["audiences"] = append(t.Sets["audiences"], r.Get("ClientID"))
	}
	return nil, err
}

// deleteTrust is content with one that is not there.
func (c *Cloud) deleteTrust(r request) (any, error) {
	delete(c.things, r.Get("OpenIDConnectProviderArn"))
	return nil, nil
}
