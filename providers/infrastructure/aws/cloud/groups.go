package cloud

import (
	"context"
	"fmt"
	"net/url"
	"strings"
)

// A Group is a security group.
type Group struct {
	ID    string
	Name  string
	VPC   string
	Rules []Rule
	Out   []Rule // where it lets out to: a source is a destination
	Tags  Tags
}

// A Rule lets in what comes from a source: a range of addresses, or a security group.
type Rule struct {
	Protocol    string
	From, To    int64
	Source      string
	Description string
}

// Same reports whether two rules let in the same.
func (r Rule) Same(o Rule) bool {
	r.Description, o.Description = "", ""
	return r == o
}

// A permission is rules as EC2 lists them: of one protocol and range of ports, from several sources.
type permission struct {
	Protocol string `xml:"ipProtocol"`
	From     *int64 `xml:"fromPort"`
	To       *int64 `xml:"toPort"`
	Ranges   []struct {
		CIDR        string `xml:"cidrIp"`
		Description string `xml:"description"`
	} `xml:"ipRanges>item"`
	Ranges6 []struct {
		CIDR        string `xml:"cidrIpv6"`
		Description string `xml:"description"`
	} `xml:"ipv6Ranges>item"`
	Groups []struct {
		ID          string `xml:"groupId"`
		Description string `xml:"description"`
	} `xml:"groups>item"`
}

func (p permission) rules() []Rule {
	var out []Rule
	r := Rule{Protocol: p.Protocol, From: -1, To: -1}
	if p.From != nil {
		r.From = *p.From
	}
	if p.To != nil {
		r.To = *p.To
	}
	add := func(source, description string) {
		r.Source, r.Description = source, description
		out = append(out, r)
	}
	for _, s := range p.Ranges {
		add(s.CIDR, s.Description)
	}
	for _, s := range p.Ranges6 {
		add(s.CIDR, s.Description)
	}
	for _, s := range p.Groups {
		add(s.ID, s.Description)
	}
	return out
}

type groups struct {
	more
	All []struct {
		ID    string       `xml:"groupId"`
		Name  string       `xml:"groupName"`
		VPC   string       `xml:"vpcId"`
		Rules []permission `xml:"ipPermissions>item"`
		Out   []permission `xml:"ipPermissionsEgress>item"`
		Set   tagSet       `xml:"tagSet>item"`
	} `xml:"securityGroupInfo>item"`
}

func (l *groups) items() []Group {
	var out []Group
	for _, g := range l.All {
		x := Group{ID: g.ID, Name: g.Name, VPC: g.VPC, Tags: g.Set.tags()}
		for _, p := range g.Rules {
			x.Rules = append(x.Rules, p.rules()...)
		}
		for _, p := range g.Out {
			x.Out = append(x.Out, p.rules()...)
		}
		out = append(out, x)
	}
	return out
}

// Groups returns the security groups that pass filters, pairs of a name and a value.
func (c *Client) Groups(ctx context.Context, filters ...string) ([]Group, error) {
	return list[Group, groups](ctx, c, "DescribeSecurityGroups", filter(filters...))
}

// CreateGroup makes a security group, which lets nothing in.
func (c *Client) CreateGroup(ctx context.Context, vpc, name, description string, tags Tags) (Group, error) {
	var got struct {
		ID string `xml:"groupId"`
	}
	err := c.query(ctx, ec2, "CreateSecurityGroup", tagged(url.Values{"VpcId": {vpc}, "GroupName": {name}, "GroupDescription": {description}}, "security-group", tags), &got)
	return Group{ID: got.ID, Name: name, VPC: vpc, Tags: tags}, err
}

// DeleteGroup deletes a security group.
func (c *Client) DeleteGroup(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "DeleteSecurityGroup", url.Values{"GroupId": {id}}, nil))
}

// permissions returns rules as parameters.
func permissions(group string, rules []Rule) url.Values {
	out := url.Values{"GroupId": {group}}
	for i, r := range rules {
		at := fmt.Sprintf("IpPermissions.%d.", i+1)
		out.Set(at+"IpProtocol", r.Protocol)
		if r.Protocol != "-1" {
			out.Set(at+"FromPort", fmt.Sprint(r.From))
			out.Set(at+"ToPort", fmt.Sprint(r.To))
		}
		list, field := "IpRanges", "CidrIp"
		switch {
		case strings.HasPrefix(r.Source, "sg-"):
			list, field = "Groups", "GroupId"
		case strings.Contains(r.Source, ":"):
			list, field = "Ipv6Ranges", "CidrIpv6"
		}
		out.Set(at+list+".1."+field, r.Source)
		if r.Description != "" {
			out.Set(at+list+".1.Description", r.Description)
		}
	}
	return out
}

// Authorize adds rules to a security group. Rules that are there are no error.
func (c *Client) Authorize(ctx context.Context, group string, rules ...Rule) error {
	err := c.query(ctx, ec2, "AuthorizeSecurityGroupIngress", permissions(group, rules), nil)
	if !Is(err, "InvalidPermission.Duplicate") || len(rules) == 1 {
		return unless(err, "InvalidPermission.Duplicate")
	}
	for _, r := range rules { // one that is there fails all
		if err := c.Authorize(ctx, group, r); err != nil {
			return err
		}
	}
	return nil
}

// SetGroups has a network interface be in security groups, and in no others.
func (c *Client) SetGroups(ctx context.Context, id string, groups ...string) error {
	form := url.Values{"NetworkInterfaceId": {id}}
	for i, g := range groups {
		form.Set(fmt.Sprintf("SecurityGroupId.%d", i+1), g)
	}
	return c.query(ctx, ec2, "ModifyNetworkInterfaceAttribute", form, nil)
}

// unless returns err, unless it has a code.
func unless(err error, code string) error {
	if Is(err, code) {
		return nil
	}
	return err
}

// Revoke takes rules off a security group. Rules that are not there are no error.
func (c *Client) Revoke(ctx context.Context, group string, rules ...Rule) error {
	return c.revoke(ctx, "RevokeSecurityGroupIngress", group, rules)
}

// RevokeOut is Revoke for rules of what it lets out.
func (c *Client) RevokeOut(ctx context.Context, group string, rules ...Rule) error {
	return c.revoke(ctx, "RevokeSecurityGroupEgress", group, rules)
}

func (c *Client) revoke(ctx context.Context, action, group string, rules []Rule) error {
	err := c.query(ctx, ec2, action, permissions(group, rules), nil)
	if !Is(err, "InvalidPermission.NotFound") || len(rules) == 1 {
		return gone(err)
	}
	for _, r := range rules { // one that is missing fails all
		if err := c.revoke(ctx, action, group, []Rule{r}); err != nil {
			return err
		}
	}
	return nil
}
