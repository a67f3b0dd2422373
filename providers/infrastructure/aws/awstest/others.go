package awstest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// maxSecret is how many bytes a secret has at most.
// Source: Secrets Manager quotas.
const maxSecret = 65536

func (c *Cloud) security() map[string]action {
	return map[string]action{
		"GetCallerIdentity": func(r request) (any, error) {
			return texts("Arn", r.who, "UserId", "AIDA", "Account", c.o.Account), nil
		},
		"AssumeRole": c.assumeRole,
	}
}

// assumeRole gives credentials that end. A role called "nobody" lets in no one.
func (c *Cloud) assumeRole(r request) (any, error) {
	role := r.Get("RoleArn")
	if strings.HasSuffix(role, "/nobody") {
		return nil, failure{http.StatusForbidden, "AccessDenied", "User: " + r.who + " is not authorized to perform: sts:AssumeRole on resource: " + role}
	}
	key := fmt.Sprintf("ASIA%016d", len(c.keys))
	account, name, _ := strings.Cut(role, ":role/")
	c.keys[key] = strings.Replace(account, ":iam:", ":sts:", 1) + ":assumed-role/" + path.Base(name) + "/" + r.Get("RoleSessionName")
	return []node{el("Credentials", texts("AccessKeyId", key, "SecretAccessKey", "assumed", "SessionToken", "token",
		"Expiration", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))...)}, nil
}

func (c *Cloud) parameters() map[string]action {
	return map[string]action{"GetParameter": func(r request) (any, error) {
		name, _ := r.body["Name"].(string)
		p := c.find(Parameters, "name", name)
		if p == nil {
			return nil, bad("ParameterNotFound", "The parameter couldn't be found")
		}
		return map[string]any{"Parameter": map[string]any{"Name": name, "Type": "String", "Value": p.Attr["value"]}}, nil
	}}
}

// AddParameter adds a parameter of SSM.
func (c *Cloud) AddParameter(name, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seed(Parameters, map[string]string{"name": name, "value": value})
}

func (c *Cloud) secrets() map[string]action {
	return map[string]action{
		"CreateSecret": c.createSecret, "DeleteSecret": c.deleteSecret, "ListSecrets": c.listSecrets, "GetSecretValue": c.secretValue, "DescribeSecret": c.describeSecret,
		"PutSecretValue": c.putSecret,
	}
}

func field(r request, name string) string {
	s, _ := r.body[name].(string)
	return s
}

func (c *Cloud) createSecret(r request) (any, error) {
	name, value, id := field(r, "Name"), field(r, "SecretBinary"), field(r, "ClientRequestToken")
	data, err := base64.StdEncoding.DecodeString(value)
	if s := c.find(StoredSecrets, "name", name); s != nil {
		switch {
		case s.Attr["scheduled"] != "":
			return nil, bad("InvalidRequestException", "You can't create this secret because a secret with this name is already scheduled for deletion.")
		case s.Attr["token"] == id && s.Attr["value"] == value:
			return map[string]any{"ARN": s.ID, "Name": name}, nil
		}
		return nil, bad("ResourceExistsException", "The operation failed because the secret %s already exists.", name)
	}
	if err != nil || len(data) > maxSecret || len(data) == 0 {
		return nil, bad("InvalidParameterException", "The secret value has to be of 1 to 65536 bytes.")
	}
	tags := make(map[string]string)
	all, _ := r.body["Tags"].([]any)
	for _, one := range all {
		t, _ := one.(map[string]any)
		k, _ := t["Key"].(string)
		tags[k], _ = t["Value"].(string)
	}
	s := c.addNamed(StoredSecrets, fmt.Sprintf("arn:aws:secretsmanager:%s:%s:secret:%s-%06x", c.o.Region, c.o.Account, name, c.n+1),
		map[string]string{"name": name, "value": value, "token": id}, tags)
	return map[string]any{"ARN": s.ID, "Name": name}, nil
}

func (c *Cloud) putSecret(r request) (any, error) {
	s, err := c.secret(r)
	if err != nil {
		return nil, err
	}
	s.Attr["value"], s.Attr["token"] = field(r, "SecretBinary"), field(r, "ClientRequestToken")
	return map[string]any{"ARN": s.ID, "Name": s.Attr["name"]}, nil
}

// secret returns one by its name or ARN.
func (c *Cloud) secret(r request) (*Thing, error) {
	id := field(r, "SecretId")
	for _, s := range c.all(StoredSecrets) {
		if s.ID == id || s.Attr["name"] == id {
			return s, nil
		}
	}
	return nil, bad("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
}

func (c *Cloud) deleteSecret(r request) (any, error) {
	s, err := c.secret(r)
	if err != nil {
		return nil, err
	}
	if force, _ := r.body["ForceDeleteWithoutRecovery"].(bool); force {
		delete(c.things, s.ID)
	} else {
		s.Attr["scheduled"] = "yes"
	}
	return map[string]any{"ARN": s.ID, "Name": s.Attr["name"]}, nil
}

func shownSecret(s *Thing) map[string]any {
	tags := []map[string]string{}
	for k, v := range s.Tags {
		tags = append(tags, map[string]string{"Key": k, "Value": v})
	}
	return map[string]any{"ARN": s.ID, "Name": s.Attr["name"], "Tags": tags, "CreatedDate": float64(s.Made.UnixMilli()) / 1000}
}

func (c *Cloud) describeSecret(r request) (any, error) {
	s, err := c.secret(r)
	if err != nil {
		return nil, err
	}
	return shownSecret(s), nil
}

func (c *Cloud) secretValue(r request) (any, error) {
	s, err := c.secret(r)
	if err != nil {
		return nil, err
	}
	if s.Attr["scheduled"] != "" {
		return nil, bad("InvalidRequestException", "You can't perform this operation on the secret because it was marked for deletion.")
	}
	return map[string]any{"ARN": s.ID, "Name": s.Attr["name"], "SecretBinary": s.Attr["value"]}, nil
}

// listSecrets knows one filter, that of keys of tags.
func (c *Cloud) listSecrets(r request) (any, error) {
	var keys []string
	some, _ := r.body["Filters"].([]any)
	for _, one := range some {
		f, _ := one.(map[string]any)
		if f["Key"] != "tag-key" {
			return nil, bad("InvalidParameterException", "The filter %v is not known here.", f["Key"])
		}
		all, _ := f["Values"].([]any)
		for _, v := range all {
			k, _ := v.(string)
			keys = append(keys, k)
		}
	}
	found := slices.DeleteFunc(c.all(StoredSecrets), func(s *Thing) bool {
		if c.hidden(s) || s.Attr["scheduled"] != "" {
			return true
		}
		return keys != nil && !slices.ContainsFunc(keys, func(k string) bool { _, has := s.Tags[k]; return has })
	})
	paged := r
	most, _ := r.body["MaxResults"].(float64)
	paged.Values = map[string][]string{"MaxResults": {fmt.Sprint(int(most))}, "NextToken": {field(r, "NextToken")}}
	if most == 0 {
		delete(paged.Values, "MaxResults")
	}
	page, next, err := c.page(paged, found)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, s := range page {
		list = append(list, shownSecret(s))
	}
	out := map[string]any{"SecretList": list}
	if next != "" {
		out["NextToken"] = next
	}
	return out, nil
}
