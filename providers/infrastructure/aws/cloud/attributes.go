package cloud

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The attributes of load balancers and target groups that Git has.
const (
	CrossZone = "load_balancing.cross_zone.enabled"
	ClientIP  = "preserve_client_ip.enabled"
	// CutUnhealthy has connections to a target be cut once it is unhealthy.
	CutUnhealthy = "target_health_state.unhealthy.connection_termination.enabled"
)

// attributesFor is how long attributes are remembered: each look at them is a request, and few people change them.
const attributesFor = 10 * time.Minute

// An attributesAt is what attributes were at a time.
type attributesAt struct {
	of   map[string]string
	asOf time.Time
}

// Attributes returns the attributes of a load balancer or a target group by its id, as they were within the last minutes.
func (p *Place) Attributes(ctx context.Context, id string) (map[string]string, error) {
	if k, ok := p.attributes.Of(id); ok && time.Since(k.asOf) < attributesFor {
		return k.of, nil
	}
	p.attributes.ForgetIf(func(_ string, k attributesAt) bool { return time.Since(k.asOf) >= attributesFor })
	of, err := p.askAttributes(ctx, id)
	if err == nil {
		p.attributes.Note(id, attributesAt{of, time.Now()})
	}
	return of, err
}

func (p *Place) askAttributes(ctx context.Context, id string) (map[string]string, error) {
	if isClassic(id) {
		var got struct {
			CrossZone string `xml:"DescribeLoadBalancerAttributesResult>LoadBalancerAttributes>CrossZoneLoadBalancing>Enabled"`
		}
		err := p.query(ctx, classic, "DescribeLoadBalancerAttributes", url.Values{"LoadBalancerName": {id}}, &got)
		return map[string]string{CrossZone: got.CrossZone}, err
	}
	type list []struct{ Key, Value string }
	var got struct {
		Balancer list `xml:"DescribeLoadBalancerAttributesResult>Attributes>member"`
		Group    list `xml:"DescribeTargetGroupAttributesResult>Attributes>member"`
	}
	action, form := "DescribeLoadBalancerAttributes", url.Values{"LoadBalancerArn": {id}}
	if isTargetGroup(id) {
		action, form = "DescribeTargetGroupAttributes", url.Values{"TargetGroupArn": {id}}
	}
	if err := p.query(ctx, balancing, action, form, &got); err != nil {
		return nil, err
	}
	out := make(map[string]string)
	for _, a := range slices.Concat(got.Balancer, got.Group) {
		out[a.Key] = a.Value
	}
	return out, nil
}

func isTargetGroup(id string) bool { return strings.Contains(id, ":targetgroup/") }

// SetAttributes sets attributes of a load balancer or a target group, and remembers them. Of a classic one it knows CrossZone
// alone.
func (p *Place) SetAttributes(ctx context.Context, id string, want map[string]string) error {
	err := p.setAttributes(ctx, id, want)
	if err == nil {
		p.attributes.Note(id, attributesAt{want, time.Now()})
	}
	return err
}

func (p *Place) setAttributes(ctx context.Context, id string, want map[string]string) error {
	if isClassic(id) {
		return p.query(ctx, classic, "ModifyLoadBalancerAttributes", url.Values{"LoadBalancerName": {id}, "LoadBalancerAttributes.CrossZoneLoadBalancing.Enabled": {want[CrossZone]}}, nil)
	}
	action, form := "ModifyLoadBalancerAttributes", url.Values{"LoadBalancerArn": {id}}
	if isTargetGroup(id) {
		action, form = "ModifyTargetGroupAttributes", url.Values{"TargetGroupArn": {id}}
	}
	for i, k := range slices.Sorted(maps.Keys(want)) {
		form.Set(fmt.Sprintf("Attributes.member.%d.Key", i+1), k)
		form.Set(fmt.Sprintf("Attributes.member.%d.Value", i+1), want[k])
	}
	return p.query(ctx, balancing, action, form, nil)
}
