package awstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// minorOf returns the minor version of 1.34.
func minorOf(version string) int {
	_, minor, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(minor)
	return n
}

func (c *Cloud) updateVersion(r request) (any, error) {
	t, err := c.idle(r)
	if err != nil {
		return nil, err
	}
	want := field(r, "version")
	switch step := minorOf(want) - minorOf(t.Attr["version"]); {
	case step == 0:
		return nil, bad("InvalidParameterException", "Cluster is already at the desired configuration with version: %s", want)
	case step != 1 || !slices.Contains(eksVersions(), want):
		return nil, bad("InvalidParameterException", "Unsupported Kubernetes minor version update from %s to %s", t.Attr["version"], want)
	}
	t.begin(updating, c.o.Delays.Update, map[string]string{"version": want})
	return updateOf("VersionUpdate"), nil
}

func updateOf(kind string) any {
	return map[string]any{"update": map[string]any{"id": "u", "status": "InProgress", "type": kind}}
}

// updateConfig takes one change at a time.
func (c *Cloud) updateConfig(r request) (any, error) {
	t, err := c.idle(r)
	if err != nil {
		return nil, err
	}
	const parts = "resourcesVpcConfig logging accessConfig upgradePolicy"
	var asked []string
	for p := range strings.FieldsSeq(parts) {
		if r.body[p] != nil {
			asked = append(asked, p)
		}
	}
	if len(asked) != 1 {
		return nil, bad("InvalidParameterException", "Exactly one type of update can be allowed, and there are %d", len(asked))
	}
	next := map[string]string{}
	for _, f := range []string{"subnetIds", "endpointPublicAccess", "endpointPrivateAccess", "publicAccessCidrs"} {
		next[f] = t.Attr[f]
	}
	switch in := mapping(r.body, asked[0]); asked[0] {
	case "resourcesVpcConfig":
		c.setVPC(next, in)
	case "logging":
		all, _ := in["clusterLogging"].([]any)
		var now struct{ ClusterLogging []any }
		_ = json.Unmarshal(t.raw("logging"), &now)
		next["logging"] = string(encoded(map[string]any{"clusterLogging": all}))
		if fmt.Sprint(now.ClusterLogging) == fmt.Sprint(all) {
			next["logging"] = t.Attr["logging"]
		}
	case "accessConfig":
		modes := []string{"CONFIG_MAP", "API_AND_CONFIG_MAP", "API"}
		want, _ := in["authenticationMode"].(string)
		if slices.Index(modes, want) < slices.Index(modes, t.Attr["mode"]) {
			return nil, bad("InvalidParameterException", "Unsupported authentication mode update from %s to %s", t.Attr["mode"], want)
		}
		next["mode"] = want
	case "upgradePolicy":
		next["support"], _ = in["supportType"].(string)
	}
	same := true
	for k, v := range next {
		same = same && t.Attr[k] == v
	}
	if same {
		return nil, bad("InvalidParameterException", "Cluster is already at the desired configuration with %s", asked[0])
	}
	t.begin(updating, c.o.Delays.Update, next)
	return updateOf("ConfigUpdate"), nil
}

func encoded(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

func (c *Cloud) encrypt(r request) (any, error) {
	t, err := c.idle(r)
	if err != nil {
		return nil, err
	}
	if string(t.raw("encryption")) != "null" {
		return nil, bad("InvalidParameterException", "Cluster is already at the desired configuration with encryptionConfig")
	}
	t.begin(updating, c.o.Delays.Update, map[string]string{"encryption": string(encoded(r.body["encryptionConfig"]))})
	return updateOf("AssociateEncryptionConfig"), nil
}

func (c *Cloud) untagResource(r request) (any, error) {
	t := c.things[r.Get("arn")]
	if t == nil {
		return nil, failure{http.StatusNotFound, "NotFoundException", "The specified resource could not be found."}
	}
	for _, k := range r.Values["tagKeys"] {
		delete(t.Tags, k)
	}
	return map[string]any{}, nil
}

func (c *Cloud) tagResource(r request) (any, error) {
	t := c.things[r.Get("arn")]
	if t == nil {
		return nil, failure{http.StatusNotFound, "NotFoundException", "The specified resource could not be found."}
	}
	maps.Copy(t.Tags, tagsOf(r.body, "tags"))
	return map[string]any{}, nil
}
