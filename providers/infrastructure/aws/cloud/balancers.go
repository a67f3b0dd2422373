package cloud

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Balancer is a network load balancer, or a classic one.
type Balancer struct {
	ID      string // its ARN, or the name of a classic one
	Classic bool
	Name    string
	DNS     string
	Scheme  string
	VPC     string
	State   string // provisioning, active, active_impaired, failed
	Dual    bool   // it has addresses of IPv6, too
	Subnets []string
	Groups  []string
	Targets []string // of a classic one
	Health  Health   // of a classic one
	Target  int32    // the port that a classic one leads to; 0: it is not known
	Tags    Tags
}

// A TargetGroup is what a listener of a network load balancer leads to.
type TargetGroup struct {
	ID        string   `xml:"TargetGroupArn"`
	Name      string   `xml:"TargetGroupName"`
	Port      int64    `xml:"Port"`
	VPC       string   `xml:"VpcId"`
	Family    string   `xml:"IpAddressType"` // ipv4 or ipv6; empty: ipv4
	Balancers []string `xml:"LoadBalancerArns>member"`
	Tags      Tags     `xml:"-"`

	Protocol  string `xml:"HealthCheckProtocol"`
	Checked   string `xml:"HealthCheckPort"`
	Path      string `xml:"HealthCheckPath"`
	Interval  int64  `xml:"HealthCheckIntervalSeconds"`
	Timeout   int64  `xml:"HealthCheckTimeoutSeconds"`
	Healthy   int64  `xml:"HealthyThresholdCount"`
	Unhealthy int64  `xml:"UnhealthyThresholdCount"`
}

// Health returns how its targets are checked.
func (t *TargetGroup) Health() Health {
	h := Health{t.Protocol, t.Checked, t.Path, t.Interval, t.Timeout, t.Healthy, t.Unhealthy}
	if h.Protocol == "TCP" { // which may have that of a former check
		h.Path = ""
	}
	return h
}

// Check has its targets be checked so.
func (t *TargetGroup) Check(h Health) {
	t.Protocol, t.Checked, t.Path, t.Interval, t.Timeout, t.Healthy, t.Unhealthy = h.Protocol, h.Port, h.Path, h.Interval, h.Timeout, h.Healthy, h.Unhealthy
}

type elbTags []struct {
	Key, Value string
}

// number adds a list of values to form.
func number(form url.Values, prefix string, values []string) {
	for i, v := range values {
		form.Set(fmt.Sprintf("%s.member.%d", prefix, i+1), v)
	}
}

func elbTagged(form url.Values, tags Tags) url.Values {
	for i, k := range slices.Sorted(maps.Keys(tags)) {
		form.Set(fmt.Sprintf("Tags.member.%d.Key", i+1), k)
		form.Set(fmt.Sprintf("Tags.member.%d.Value", i+1), tags[k])
	}
	return form
}

// pagesOf asks for all pages of a listing of load balancers.
func pagesOf(ctx context.Context, c *Client, s service, action string, read func() (into any, next func() string)) error {
	form := url.Values{"PageSize": {"400"}}
	for {
		into, next := read()
		if err := c.query(ctx, s, action, form, into); err != nil {
			return err
		}
		if next() == "" {
			return nil
		}
		form.Set("Marker", next())
	}
}

// Balancers returns all network load balancers, without their tags.
func (c *Client) Balancers(ctx context.Context) ([]Balancer, error) {
	type answer struct {
		All []struct {
			ARN    string `xml:"LoadBalancerArn"`
			Name   string `xml:"LoadBalancerName"`
			DNS    string `xml:"DNSName"`
			Scheme string `xml:"Scheme"`
			Type   string `xml:"Type"`
			VPC    string `xml:"VpcId"`
			State  string `xml:"State>Code"`
			Family string `xml:"IpAddressType"`
			Zones  []struct {
				Subnet string `xml:"SubnetId"`
			} `xml:"AvailabilityZones>member"`
			Groups []string `xml:"SecurityGroups>member"`
		} `xml:"DescribeLoadBalancersResult>LoadBalancers>member"`
		Next string `xml:"DescribeLoadBalancersResult>NextMarker"`
	}
	var pages []*answer
	err := pagesOf(ctx, c, balancing, "DescribeLoadBalancers", func() (any, func() string) {
		a := new(answer)
		pages = append(pages, a)
		return a, func() string { return a.Next }
	})
	var out []Balancer
	for _, p := range pages {
		for _, b := range p.All {
			x := Balancer{ID: b.ARN, Name: b.Name, DNS: b.DNS, Scheme: b.Scheme, VPC: b.VPC, State: b.State, Dual: b.Family == "dualstack", Groups: b.Groups}
			for _, z := range b.Zones {
				x.Subnets = append(x.Subnets, z.Subnet)
			}
			out = append(out, x)
		}
	}
	return out, err
}

// Classics returns all classic load balancers, without their tags.
func (c *Client) Classics(ctx context.Context) ([]Balancer, error) {
	type answer struct {
		All []struct {
			Name    string   `xml:"LoadBalancerName"`
			DNS     string   `xml:"DNSName"`
			Scheme  string   `xml:"Scheme"`
			VPC     string   `xml:"VPCId"`
			Subnets []string `xml:"Subnets>member"`
			Groups  []string `xml:"SecurityGroups>member"`
			Health  struct {
				Target             string
				Interval, Timeout  int64
				HealthyThreshold   int64
				UnhealthyThreshold int64
			} `xml:"HealthCheck"`
			Ports   []int32 `xml:"ListenerDescriptions>member>Listener>InstancePort"`
			Targets []struct {
				ID string `xml:"InstanceId"`
			} `xml:"Instances>member"`
		} `xml:"DescribeLoadBalancersResult>LoadBalancerDescriptions>member"`
		Next string `xml:"DescribeLoadBalancersResult>NextMarker"`
	}
	var pages []*answer
	err := pagesOf(ctx, c, classic, "DescribeLoadBalancers", func() (any, func() string) {
		a := new(answer)
		pages = append(pages, a)
		return a, func() string { return a.Next }
	})
	var out []Balancer
	for _, p := range pages {
		for _, b := range p.All {
			x := Balancer{ID: b.Name, Classic: true, Name: b.Name, DNS: b.DNS, Scheme: b.Scheme, VPC: b.VPC, State: "active", Subnets: b.Subnets, Groups: b.Groups}
			x.Health = Health{Interval: b.Health.Interval, Timeout: b.Health.Timeout, Healthy: b.Health.HealthyThreshold, Unhealthy: b.Health.UnhealthyThreshold}
			var path string
			var has bool
			x.Health.Protocol, x.Health.Port, _ = strings.Cut(b.Health.Target, ":")
			if x.Health.Port, path, has = strings.Cut(x.Health.Port, "/"); has {
				x.Health.Path = "/" + path
			}
			if len(b.Ports) > 0 {
				x.Target = b.Ports[0]
			}
			for _, t := range b.Targets {
				x.Targets = append(x.Targets, t.ID)
			}
			out = append(out, x)
		}
	}
	return out, err
}

// TargetGroups returns all target groups, without their tags.
func (c *Client) TargetGroups(ctx context.Context) ([]TargetGroup, error) {
	type answer struct {
		All  []TargetGroup `xml:"DescribeTargetGroupsResult>TargetGroups>member"`
		Next string        `xml:"DescribeTargetGroupsResult>NextMarker"`
	}
	var pages []*answer
	err := pagesOf(ctx, c, balancing, "DescribeTargetGroups", func() (any, func() string) {
		a := new(answer)
		pages = append(pages, a)
		return a, func() string { return a.Next }
	})
	var out []TargetGroup
	for _, p := range pages {
		out = append(out, p.All...)
	}
	return out, err
}

// mostTagged is how many things one request may ask for the tags of.
const mostTagged = 20

// tagsOf returns the tags of things of load balancing by their ids. What is gone meanwhile has none.
func (c *Client) tagsOf(ctx context.Context, s service, ids []string) (map[string]Tags, error) {
	prefix := "ResourceArns"
	if s == classic {
		prefix = "LoadBalancerNames"
	}
	out := make(map[string]Tags, len(ids))
	var ask func(some []string) error
	ask = func(some []string) error {
		var got struct {
			All []struct {
				ARN  string  `xml:"ResourceArn"`
				Name string  `xml:"LoadBalancerName"`
				Tags elbTags `xml:"Tags>member"`
			} `xml:"DescribeTagsResult>TagDescriptions>member"`
		}
		form := url.Values{}
		number(form, prefix, some)
		err := c.query(ctx, s, "DescribeTags", form, &got)
		if IsNotFound(err) { // one missing fails all
			if len(some) == 1 {
				return nil
			}
			for _, one := range some {
				if err := ask([]string{one}); err != nil {
					return err
				}
			}
			return nil
		}
		for _, t := range got.All {
			tags := make(Tags, len(t.Tags))
			for _, one := range t.Tags {
				tags[one.Key] = one.Value
			}
			out[t.ARN+t.Name] = tags
		}
		return err
	}
	for some := range slices.Chunk(ids, mostTagged) {
		if err := ask(some); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A BalancerRequest is for a load balancer.
type BalancerRequest struct {
	Name, Scheme string
	Subnets      []string
	Groups       []string
	Dual         bool // it has addresses of IPv6, too; no classic one has
	Tags         Tags
	Port         int32 // of the listener of a classic one
}

// CreateBalancer makes a network load balancer. One of that name with the same settings answers,
// whosesoever it is.
func (c *Client) CreateBalancer(ctx context.Context, r BalancerRequest) (Balancer, error) {
	form := url.Values{"Name": {r.Name}, "Scheme": {r.Scheme}, "Type": {"network"}}
	number(form, "Subnets", r.Subnets)
	number(form, "SecurityGroups", r.Groups)
	if r.Dual {
		form.Set("IpAddressType", "dualstack")
	}
	var got struct {
		ARN   string `xml:"CreateLoadBalancerResult>LoadBalancers>member>LoadBalancerArn"`
		DNS   string `xml:"CreateLoadBalancerResult>LoadBalancers>member>DNSName"`
		VPC   string `xml:"CreateLoadBalancerResult>LoadBalancers>member>VpcId"`
		State string `xml:"CreateLoadBalancerResult>LoadBalancers>member>State>Code"`
	}
	err := c.query(ctx, balancing, "CreateLoadBalancer", elbTagged(form, r.Tags), &got)
	return Balancer{ID: got.ARN, Name: r.Name, DNS: got.DNS, Scheme: r.Scheme, VPC: got.VPC, State: got.State, Dual: r.Dual, Subnets: r.Subnets, Groups: r.Groups, Tags: r.Tags}, err
}

// CreateClassic makes a classic load balancer, which leads from its port to targetPort, and from more to the same ones.
func (c *Client) CreateClassic(ctx context.Context, r BalancerRequest, targetPort int32, more []int32) (Balancer, error) {
	form := url.Values{"LoadBalancerName": {r.Name}}
	listen := func(n int, from, to int32) {
		at := fmt.Sprintf("Listeners.member.%d.", n)
		form.Set(at+"Protocol", "TCP")
		form.Set(at+"InstanceProtocol", "TCP")
		form.Set(at+"LoadBalancerPort", strconv.Itoa(int(from)))
		form.Set(at+"InstancePort", strconv.Itoa(int(to)))
	}
	listen(1, r.Port, targetPort)
	for i, p := range slices.DeleteFunc(slices.Clone(more), func(p int32) bool { return p == r.Port }) {
		listen(i+2, p, p)
	}
	if r.Scheme == "internal" {
		form.Set("Scheme", r.Scheme)
	}
	number(form, "Subnets", r.Subnets)
	number(form, "SecurityGroups", r.Groups)
	var got struct {
		DNS string `xml:"CreateLoadBalancerResult>DNSName"`
	}
	err := c.query(ctx, classic, "CreateLoadBalancer", elbTagged(form, r.Tags), &got)
	return Balancer{ID: r.Name, Classic: true, Name: r.Name, DNS: got.DNS, Scheme: r.Scheme, State: "active", Subnets: r.Subnets, Groups: r.Groups, Tags: r.Tags}, err
}

// A Health is a health check.
type Health struct {
	Protocol, Port, Path                  string // HTTPS, "6443", "/readyz"
	Interval, Timeout, Healthy, Unhealthy int64
}

// form returns the parameters of a health check of a target group.
func (h Health) form() url.Values {
	out := url.Values{
		"HealthCheckProtocol": {h.Protocol}, "HealthCheckPort": {h.Port}, "HealthCheckIntervalSeconds": {fmt.Sprint(h.Interval)}, "HealthCheckTimeoutSeconds": {fmt.Sprint(h.Timeout)},
		"HealthyThresholdCount": {fmt.Sprint(h.Healthy)}, "UnhealthyThresholdCount": {fmt.Sprint(h.Unhealthy)},
	}
	if h.Path != "" {
		out.Set("HealthCheckPath", h.Path)
	}
	return out
}

// SetHealth sets how the targets of a target group are checked.
func (c *Client) SetHealth(ctx context.Context, group string, h Health) error {
	return c.query(ctx, balancing, "ModifyTargetGroup", Join(h.form(), url.Values{"TargetGroupArn": {group}}), nil)
}

// ConfigureClassic sets the health check of a classic load balancer.
func (c *Client) ConfigureClassic(ctx context.Context, name string, h Health) error {
	return c.query(ctx, classic, "ConfigureHealthCheck", url.Values{
		"LoadBalancerName": {name}, "HealthCheck.Target": {h.Target()}, "HealthCheck.Interval": {fmt.Sprint(h.Interval)}, "HealthCheck.Timeout": {fmt.Sprint(h.Timeout)},
		"HealthCheck.HealthyThreshold": {fmt.Sprint(h.Healthy)}, "HealthCheck.UnhealthyThreshold": {fmt.Sprint(h.Unhealthy)},
	}, nil)
}

// Target is what a classic load balancer checks.
func (h Health) Target() string { return h.Protocol + ":" + h.Port + h.Path }

// CreateTargetGroup makes a target group for instances. One of that name with the same settings answers.
func (c *Client) CreateTargetGroup(ctx context.Context, name, vpc string, port int64, six bool, h Health, tags Tags) (TargetGroup, error) {
	form := Join(h.form(), url.Values{"Name": {name}, "Protocol": {"TCP"}, "Port": {fmt.Sprint(port)}, "VpcId": {vpc}, "TargetType": {"instance"}})
	if six {
		form.Set("IpAddressType", "ipv6")
	}
	var got struct {
		All []TargetGroup `xml:"CreateTargetGroupResult>TargetGroups>member"`
	}
	if err := c.query(ctx, balancing, "CreateTargetGroup", elbTagged(form, tags), &got); err != nil {
		return TargetGroup{}, err
	}
	if len(got.All) != 1 {
		return TargetGroup{}, &Error{Service: balancing.name, Action: "CreateTargetGroup", Err: fmt.Errorf("its answer has %d target groups", len(got.All))}
	}
	got.All[0].Tags = tags
	return got.All[0], nil
}

// CreateListener has a network load balancer lead to a target group. A listener that does is no error.
func (c *Client) CreateListener(ctx context.Context, balancer, group string, port int64, tags Tags) error {
	return c.query(ctx, balancing, "CreateListener", elbTagged(url.Values{
		"LoadBalancerArn": {balancer}, "Protocol": {"TCP"}, "Port": {fmt.Sprint(port)},
		"DefaultActions.member.1.Type": {"forward"}, "DefaultActions.member.1.TargetGroupArn": {group},
	}, tags), nil)
}

// Targets returns the ids of the instances in a target group, without those that are on their way out.
func (c *Client) Targets(ctx context.Context, group string) ([]string, error) {
	var got struct {
		All []struct {
			ID    string `xml:"Target>Id"`
			State string `xml:"TargetHealth>State"`
		} `xml:"DescribeTargetHealthResult>TargetHealthDescriptions>member"`
	}
	if err := c.query(ctx, balancing, "DescribeTargetHealth", url.Values{"TargetGroupArn": {group}}, &got); err != nil {
		return nil, err
	}
	var out []string
	for _, t := range got.All {
		if t.State != "draining" {
			out = append(out, t.ID)
		}
	}
	return out, nil
}

// isClassic reports whether an id is that of a classic load balancer, and no ARN.
func isClassic(id string) bool { return !strings.HasPrefix(id, "arn:") }

// SetTarget adds an instance to a target group, or to a classic load balancer, or removes it.
func (c *Client) SetTarget(ctx context.Context, id, instance string, on bool) error {
	switch {
	case isClassic(id) && on:
		return c.query(ctx, classic, "RegisterInstancesWithLoadBalancer", url.Values{"LoadBalancerName": {id}, "Instances.member.1.InstanceId": {instance}}, nil)
	case isClassic(id):
		return c.query(ctx, classic, "DeregisterInstancesFromLoadBalancer", url.Values{"LoadBalancerName": {id}, "Instances.member.1.InstanceId": {instance}}, nil)
	case on:
		return c.query(ctx, balancing, "RegisterTargets", url.Values{"TargetGroupArn": {id}, "Targets.member.1.Id": {instance}}, nil)
	}
	return c.query(ctx, balancing, "DeregisterTargets", url.Values{"TargetGroupArn": {id}, "Targets.member.1.Id": {instance}}, nil)
}

// DeleteBalancer deletes a load balancer, with its listeners.
func (c *Client) DeleteBalancer(ctx context.Context, b Balancer) error {
	if b.Classic {
		return gone(c.query(ctx, classic, "DeleteLoadBalancer", url.Values{"LoadBalancerName": {b.Name}}, nil))
	}
	return gone(c.query(ctx, balancing, "DeleteLoadBalancer", url.Values{"LoadBalancerArn": {b.ID}}, nil))
}

// DeleteTargetGroup deletes a target group.
func (c *Client) DeleteTargetGroup(ctx context.Context, id string) error {
	return gone(c.query(ctx, balancing, "DeleteTargetGroup", url.Values{"TargetGroupArn": {id}}, nil))
}
