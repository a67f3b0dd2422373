package awstest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// customImage is the type of a node group whose launch template names the image.
const customImage = "CUSTOM"

// A templateVersion is a version of a launch template.
type templateVersion struct {
	Number      int
	Description string
	Data        url.Values
	Made        time.Time
}

var templateName = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`)

func (c *Cloud) shownTemplate(t *Thing) []node {
	latest := 1
	for _, v := range t.templateVersions() {
		if time.Since(v.Made) >= c.o.Delays.Lag {
			latest = v.Number
		}
	}
	return append(texts("launchTemplateId", t.ID, "launchTemplateName", t.Attr["launchTemplateName"], "defaultVersionNumber", "1", "latestVersionNumber", strconv.Itoa(latest)), tagSet(t.Tags))
}

func (t *Thing) templateVersions() []templateVersion {
	var out []templateVersion
	_ = json.Unmarshal(t.raw("versions"), &out)
	return out
}

// addVersion adds the version that a request has.
func (t *Thing) addVersion(r request) templateVersion {
	n, _ := strconv.Atoi(t.Attr["latest"])
	v := templateVersion{n + 1, r.Get("VersionDescription"), url.Values{}, time.Now()}
	for k, values := range r.Values {
		if name, ok := strings.CutPrefix(k, "LaunchTemplateData."); ok {
			v.Data[name] = values
		}
	}
	t.put("versions", append(t.templateVersions(), v))
	t.Attr["latest"] = strconv.Itoa(v.Number)
	return v
}

func (v templateVersion) shown(t *Thing) []node {
	return texts("launchTemplateId", t.ID, "launchTemplateName", t.Attr["launchTemplateName"], "versionNumber", strconv.Itoa(v.Number), "versionDescription", v.Description)
}

// checkTemplate returns what is wrong with a version of a launch template. EC2 looks up little of it.
func checkTemplate(r request) error {
	data, err := base64.StdEncoding.DecodeString(r.Get("LaunchTemplateData.UserData"))
	some := slices.ContainsFunc(slices.Collect(maps.Keys(r.Values)), func(k string) bool { return strings.HasPrefix(k, "LaunchTemplateData.") })
	switch {
	case !some:
		return bad("MissingParameter", "The request must contain the parameter LaunchTemplateData")
	case err != nil:
		return bad("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	case len(data) > maxUserData:
		return bad("InvalidUserData.Malformed", "User data is limited to 16384 bytes")
	}
	return nil
}

func (c *Cloud) createTemplate(r request) (any, error) {
	name := r.Get("LaunchTemplateName")
	switch {
	case !templateName.MatchString(name):
		return nil, bad("InvalidLaunchTemplateName.MalformedException", "A launch template name must be between 3 and 128 characters, and may contain letters, numbers, and the following characters: - ( ) . / _.")
	case c.find(LaunchTemplates, "launchTemplateName", name) != nil:
		return nil, bad("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
	}
	if err := checkTemplate(r); err != nil {
		return nil, err
	}
	t := c.add(LaunchTemplates, map[string]string{"launchTemplateName": name}, r.tags("launch-template"))
	t.addVersion(r)
	return []node{el("launchTemplate", c.shownTemplate(t)...)}, nil
}

// template returns the launch template with an id, unless it is too new to be seen.
func (c *Cloud) template(id string) (*Thing, error) {
	t := c.get(LaunchTemplates, id)
	if t == nil || c.hidden(t) {
		return nil, bad("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", id)
	}
	return t, nil
}

func (c *Cloud) describeTemplateVersions(r request) (any, error) {
	t, err := c.template(r.Get("LaunchTemplateId"))
	if err != nil {
		return nil, err
	}
	var out [][]node
	for _, v := range t.templateVersions() {
		if time.Since(v.Made) >= c.o.Delays.Lag {
			out = append(out, v.shown(t))
		}
	}
	return []node{items("launchTemplateVersionSet", "item", out...)}, nil
}

func (c *Cloud) createTemplateVersion(r request) (any, error) {
	t, err := c.template(r.Get("LaunchTemplateId"))
	if err != nil {
		return nil, err
	}
	if err := checkTemplate(r); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(r.Encode()))
	key, digest := "template "+t.ID+" "+r.Get("ClientToken"), hex.EncodeToString(sum[:])
	if was, ok := c.tokens[key]; ok && r.Get("ClientToken") != "" {
		number, request, _ := strings.Cut(was.request, " ")
		if request != digest {
			return nil, bad("IdempotentParameterMismatch", "Client token already used before.")
		}
		n, _ := strconv.Atoi(number)
		return []node{el("launchTemplateVersion", templateVersion{Number: n, Description: r.Get("VersionDescription")}.shown(t)...)}, nil
	}
	v := t.addVersion(r)
	c.tokens[key] = token{t, fmt.Sprint(v.Number, " ", digest)}
	return []node{el("launchTemplateVersion", v.shown(t)...)}, nil
}

func (c *Cloud) deleteTemplateVersions(r request) (any, error) {
	t, err := c.template(r.Get("LaunchTemplateId"))
	if err != nil {
		return nil, err
	}
	var failed [][]node
	for _, text := range r.list("LaunchTemplateVersion") {
		all := t.templateVersions()
		i := slices.IndexFunc(all, func(v templateVersion) bool { return strconv.Itoa(v.Number) == text })
		fail := func(code, message string) {
			failed = append(failed, append(texts("launchTemplateId", t.ID, "versionNumber", text), el("responseError", texts("code", code, "message", message)...)))
		}
		switch {
		case text == "1":
			fail("unexpectedError", "You cannot delete the default version of a launch template")
		case i < 0:
			fail("launchTemplateVersionDoesNotExist", "The version does not exist")
		default:
			t.put("versions", slices.Delete(all, i, i+1))
		}
	}
	return []node{items("unsuccessfullyDeletedLaunchTemplateVersionSet", "item", failed...)}, nil
}

func (c *Cloud) deleteTemplate(r request) (any, error) {
	t, err := c.template(r.Get("LaunchTemplateId"))
	if err != nil {
		return nil, err
	}
	delete(c.things, t.ID)
	return []node{el("launchTemplate", c.shownTemplate(t)...)}, nil
}

// launched sets in attr what a node group has of the launch template in a request, or says what is wrong with it.
// Source: EKS user guide, "Customize managed nodes with launch templates".
func (c *Cloud) launched(r request, attr map[string]string, isNew bool) error {
	in := mapping(r.body, "launchTemplate")
	if in == nil {
		return nil
	}
	id, _ := in["id"].(string)
	number, _ := in["version"].(string)
	t := c.get(LaunchTemplates, id)
	switch {
	case !isNew && id != attr["template"]:
		return bad("InvalidParameterException", "You cannot specify a different launch template than the one that the node group was created with")
	case t == nil:
		return bad("InvalidParameterException", "Launch template not found: %s", id)
	}
	all := t.templateVersions()
	i := slices.IndexFunc(all, func(v templateVersion) bool { return strconv.Itoa(v.Number) == number })
	if i < 0 {
		return bad("InvalidParameterException", "Launch template version not found: %s", number)
	}
	data, image := all[i].Data, all[i].Data.Get("ImageId")
	has := func(field string) bool { return r.body[field] != nil }
	switch {
	case data.Has("IamInstanceProfile.Name"):
		return bad("InvalidParameterException", "Launch template should not specify an instance profile. The noderole in your request will be used to construct an instance profile.")
	case data.Has("InstanceMarketOptions.MarketType"):
		return bad("InvalidParameterException", "Launch template should not specify an instance market type.")
	case data.Has("InstanceType") && has("instanceTypes"):
		return bad("InvalidParameterException", "Instance type must be specified either in the launch template or in the request, but not both")
	case has("diskSize"):
		return bad("InvalidParameterException", "Disk size must be specified within the launch template.")
	case has("remoteAccess"):
		return bad("InvalidParameterException", "Remote access configuration cannot be specified with a launch template.")
	case image != "" && (has("amiType") || has("releaseVersion") || has("version")):
		return bad("InvalidParameterException", "You cannot specify amiType, releaseVersion or version when the launch template has an image id.")
	case image != "" && c.get(Images, image) == nil:
		return bad("InvalidParameterException", "The image id '[%s]' does not exist", image)
	case !isNew && (image != "") != (attr["image"] == customImage):
		return bad("InvalidParameterException", "You cannot change between an image of EKS and a custom one")
	}
	if image != "" {
		attr["image"], attr["release"] = customImage, image
	}
	attr["template"], attr["templateVersion"], attr["templateType"] = id, number, data.Get("InstanceType")
	return nil
}

// shownRef shows the launch template of a node group; nil: it has none.
func (c *Cloud) shownRef(t *Thing) any {
	if t.Attr["template"] == "" {
		return nil
	}
	out := map[string]string{"id": t.Attr["template"], "version": t.Attr["templateVersion"]}
	if x := c.things[t.Attr["template"]]; x != nil {
		out["name"] = x.Attr["launchTemplateName"]
	}
	return out
}

// AddLaunchTemplate adds a launch template of somebody else.
func (c *Cloud) AddLaunchTemplate(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(LaunchTemplates, map[string]string{"launchTemplateName": name}, nil).addVersion(request{Values: url.Values{}})
}

// TemplateVersion returns the parameters of a version of a launch template, and its description; nil: it is not there.
func (c *Cloud) TemplateVersion(id string, number int) (url.Values, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.things[id]; t != nil {
		for _, v := range t.templateVersions() {
			if v.Number == number {
				return v.Data, v.Description
			}
		}
	}
	return nil, ""
}

// TemplateVersions returns the numbers of the versions of a launch template.
func (c *Cloud) TemplateVersions(id string) (out []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.things[id].templateVersions() {
		out = append(out, v.Number)
	}
	return out
}
