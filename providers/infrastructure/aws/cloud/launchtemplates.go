package cloud

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// A LaunchTemplate is one of EC2.
type LaunchTemplate struct {
	ID      string `xml:"launchTemplateId"`
	Name    string `xml:"launchTemplateName"`
	Default int64  `xml:"defaultVersionNumber"`
	Latest  int64  `xml:"latestVersionNumber"`
	Set     tagSet `xml:"tagSet>item"`
	Tags    Tags   `xml:"-"`
}

// A TemplateVersion is a version of a launch template. What is in it never changes.
type TemplateVersion struct {
	Number      int64  `xml:"versionNumber"`
	Description string `xml:"versionDescription"`
}

// A TemplateRef is the version of a launch template that a node group has.
type TemplateRef struct {
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

type launchTemplates struct {
	more
	All []LaunchTemplate `xml:"launchTemplates>item"`
}

func (l *launchTemplates) items() []LaunchTemplate {
	for i := range l.All {
		l.All[i].Tags = l.All[i].Set.tags()
	}
	return l.All
}

type templateVersions struct {
	more
	All []TemplateVersion `xml:"launchTemplateVersionSet>item"`
}

func (l *templateVersions) items() []TemplateVersion { return l.All }

// mostTemplates is how many launch templates, or versions of one, a page or a request has.
// Source: EC2 API reference, DescribeLaunchTemplates, DescribeLaunchTemplateVersions, DeleteLaunchTemplateVersions.
const mostTemplates = 200

// LaunchTemplates returns the launch templates that pass filters.
func (c *Client) LaunchTemplates(ctx context.Context, filters ...string) ([]LaunchTemplate, error) {
	form := filter(filters...)
	form.Set("MaxResults", strconv.Itoa(mostTemplates))
	return list[LaunchTemplate, launchTemplates](ctx, c, "DescribeLaunchTemplates", form)
}

// TemplateVersions returns the versions of a launch template.
func (c *Client) TemplateVersions(ctx context.Context, id string) ([]TemplateVersion, error) {
	return list[TemplateVersion, templateVersions](ctx, c, "DescribeLaunchTemplateVersions", url.Values{"LaunchTemplateId": {id}, "MaxResults": {strconv.Itoa(mostTemplates)}})
}

// CreateTemplate makes a launch template with a first version. Its name is alone in the account and region.
func (c *Client) CreateTemplate(ctx context.Context, name, description string, data url.Values, tags Tags) (LaunchTemplate, error) {
	form := Join(data, tagged(url.Values{"LaunchTemplateName": {name}, "VersionDescription": {description}}, "launch-template", tags))
	var got struct {
		Made LaunchTemplate `xml:"launchTemplate"`
	}
	err := c.query(ctx, ec2, "CreateLaunchTemplate", form, &got)
	if err == nil && got.Made.ID == "" {
		err = unread(ec2, "CreateLaunchTemplate", "it has no launch template")
	}
	return got.Made, err
}

// CreateTemplateVersion makes another version of a launch template, and returns its number.
func (c *Client) CreateTemplateVersion(ctx context.Context, id, description, token string, data url.Values) (int64, error) {
	var got struct {
		Made TemplateVersion `xml:"launchTemplateVersion"`
	}
	err := c.query(ctx, ec2, "CreateLaunchTemplateVersion", Join(data, url.Values{"LaunchTemplateId": {id}, "VersionDescription": {description}, "ClientToken": {token}}), &got)
	if err == nil && got.Made.Number == 0 {
		err = unread(ec2, "CreateLaunchTemplateVersion", "it has no version")
	}
	return got.Made.Number, err
}

// DeleteTemplateVersions deletes versions of a launch template, at most 200. Those that are not there are no error.
func (c *Client) DeleteTemplateVersions(ctx context.Context, id string, versions []int64) error {
	form := url.Values{"LaunchTemplateId": {id}}
	for i, n := range versions[:min(len(versions), mostTemplates)] {
		form.Set(fmt.Sprintf("LaunchTemplateVersion.%d", i+1), strconv.FormatInt(n, 10))
	}
	var got struct {
		Failed []struct {
			Code    string `xml:"responseError>code"`
			Message string `xml:"responseError>message"`
		} `xml:"unsuccessfullyDeletedLaunchTemplateVersionSet>item"`
	}
	const action = "DeleteLaunchTemplateVersions"
	if err := c.query(ctx, ec2, action, form, &got); err != nil {
		return err
	}
	for _, f := range got.Failed {
		if f.Code != "launchTemplateVersionDoesNotExist" && f.Code != "launchTemplateIdDoesNotExist" {
			return &Error{Service: ec2.name, Action: action, Status: http.StatusBadRequest, Code: cmp.Or(f.Code, "unknown"), Message: f.Message}
		}
	}
	return nil
}

// DeleteTemplate deletes a launch template with its versions.
func (c *Client) DeleteTemplate(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "DeleteLaunchTemplate", url.Values{"LaunchTemplateId": {id}}, nil))
}

// IsNameTaken reports whether there is a launch template of the name already.
func IsNameTaken(err error) bool { return Is(err, "InvalidLaunchTemplateName.AlreadyExistsException") }
