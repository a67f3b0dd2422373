package awstest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"regexp"
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
	key := c.session(role, r.Get("RoleSessionName"))
	return []node{el("Credentials", texts("AccessKeyId", key, "SecretAccessKey", assumedSecret, "SessionToken", assumedToken,
		"Expiration", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))...)}, nil
}

// What each session of a role has beside its access key.
const assumedSecret, assumedToken = "assumed", "token"

// session returns the access key of a session of a role.
func (c *Cloud) session(role, name string) string {
	account, of, _ := strings.Cut(role, ":role/")
	who := strings.Replace(account, ":iam:", ":sts:", 1) + ":assumed-role/" + path.Base(of) + "/" + name
	key := fmt.Sprintf("ASIA%016d", len(c.keys))
	c.keys[key] = who
	return key
}

// Assume returns the access key of a session of a role, as people get one.
func (c *Cloud) Assume(role, session string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session("arn:aws:iam::"+c.o.Account+":role/"+role, session)
}

func (c *Cloud) parameters() map[string]action {
	return map[string]action{
		"GetParameter": func(r request) (any, error) {
			p := c.find(Parameters, "name", field(r, "Name"))
			if p == nil {
				return nil, bad("ParameterNotFound", "The parameter couldn't be found")
			}
			value := p.Attr["value"]
			if decrypted, _ := r.body["WithDecryption"].(bool); p.Attr["type"] == "SecureString" && !decrypted {
				value = "AQICAH…"
			}
			return map[string]any{"Parameter": map[string]any{"Name": p.Attr["name"], "Type": p.Attr["type"], "Value": value}}, nil
		},
		"PutParameter": c.putParameter, "DeleteParameter": c.deleteParameter, "DescribeParameters": c.describeParameters,
	}
}

// maxParameter is how many characters a parameter of the standard tier has at most.
// Source: AWS Systems Manager endpoints and quotas.
const maxParameter = 4096

var parameterName = regexp.MustCompile(`^(/[a-zA-Z0-9_.-]+){1,15}$`)

func (c *Cloud) putParameter(r request) (any, error) {
	name, value := field(r, "Name"), field(r, "Value")
	overwrite, _ := r.body["Overwrite"].(bool)
	tags := jsonTags(r)
	p := c.find(Parameters, "name", name)
	switch {
	case !parameterName.MatchString(name):
		return nil, bad("ValidationException", "Parameter name must be a fully qualified name of at most 15 levels")
	case len(value) > maxParameter || value == "":
		return nil, bad("ValidationException", "Standard tier parameters support a maximum parameter value of 4096 characters.")
	case overwrite && len(tags) > 0:
		return nil, bad("ValidationException", "Invalid request: tags and overwrite can't be used together.")
	case p != nil && !overwrite:
		return nil, bad("ParameterAlreadyExists", "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.")
	case p == nil:
		p = c.add(Parameters, map[string]string{"name": name}, tags)
	}
	p.Attr["value"], p.Attr["type"] = value, field(r, "Type")
	return map[string]any{"Version": 1, "Tier": "Standard"}, nil
}

func (c *Cloud) deleteParameter(r request) (any, error) {
	p := c.find(Parameters, "name", field(r, "Name"))
	if p == nil {
		return nil, bad("ParameterNotFound", "")
	}
	delete(c.things, p.ID)
	return map[string]any{}, nil
}

// describeParameters knows one filter, that of a path with all that is below.
func (c *Cloud) describeParameters(r request) (any, error) {
	var path string
	some, _ := r.body["ParameterFilters"].([]any)
	for _, one := range some {
		f, _ := one.(map[string]any)
		all, _ := f["Values"].([]any)
		if f["Key"] != "Path" || f["Option"] != "Recursive" || len(all) != 1 {
			return nil, bad("InvalidFilterKey", "The filter %v is not known here.", f)
		}
		path, _ = all[0].(string)
	}
	found := slices.DeleteFunc(c.all(Parameters), func(p *Thing) bool { return c.hidden(p) || !strings.HasPrefix(p.Attr["name"], path+"/") })
	page, write, err := c.jsonPage(r, found)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, p := range page {
		list = append(list, map[string]any{"Name": p.Attr["name"], "Type": p.Attr["type"], "LastModifiedDate": float64(p.Made.UnixMilli()) / 1000})
	}
	return write("Parameters", list), nil
}

// AddParameter adds a parameter of SSM.
func (c *Cloud) AddParameter(name, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seed(Parameters, map[string]string{"name": name, "value": value, "type": "String"})
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

// jsonTags returns the tags of a request.
func jsonTags(r request) map[string]string {
	tags := make(map[string]string)
	all, _ := r.body["Tags"].([]any)
	for _, one := range all {
		t, _ := one.(map[string]any)
		k, _ := t["Key"].(string)
		tags[k], _ = t["Value"].(string)
	}
	return tags
}

// jsonPage returns a page of found, and what writes it as an answer.
func (c *Cloud) jsonPage(r request, found []*Thing) (page []*Thing, write func(name string, list []any) map[string]any, err error) {
	paged := r
	most, _ := r.body["MaxResults"].(float64)
	paged.Values = map[string][]string{"MaxResults": {fmt.Sprint(int(most))}, "NextToken": {field(r, "NextToken")}}
	if most == 0 {
		delete(paged.Values, "MaxResults")
	}
	page, next, err := c.page(paged, found)
	return page, func(name string, list []any) map[string]any {
		out := map[string]any{name: list}
		if next != "" {
			out["NextToken"] = next
		}
		return out
	}, err
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
	s := c.addNamed(StoredSecrets, fmt.Sprintf("arn:aws:secretsmanager:%s:%s:secret:%s-%06x", c.o.Region, c.o.Account, name, c.n+1),
		map[string]string{"name": name, "value": value, "token": id}, jsonTags(r))
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
	page, write, err := c.jsonPage(r, found)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, s := range page {
		list = append(list, shownSecret(s))
	}
	return write("SecretList", list), nil
}
