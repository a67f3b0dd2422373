package azure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// addressOf is a new public address as Git has it, called label in DNS unless that is empty.
func addressOf(ip *api.PublicIP, label string) map[string]any {
	p := map[string]any{"publicIPAllocationMethod": "Static"}
	if label != "" {
		p["dnsSettings"] = map[string]any{"domainNameLabel": label}
	}
	if tags := ipTags(ip); len(tags) > 0 {
		p["ipTags"] = tags
	}
	return map[string]any{"sku": map[string]any{"name": "Standard"}, "properties": p}
}

// ipTags are those of a public address in Git; nil: it has none there.
func ipTags(ip *api.PublicIP) []arm.IPTag {
	if ip == nil {
		return nil
	}
	var out []arm.IPTag
	for _, t := range ip.IPTags {
		out = append(out, arm.IPTag{Type: t.Type, Tag: t.Tag})
	}
	return out
}

// compareTags tells if a public address that is there has other tags than Git, at field, names.
func compareTags(d *steps.Decision, is *arm.Resource[arm.PublicIP], ip *api.PublicIP, field string) {
	if want := ipTags(ip); len(want) > 0 && !sameTexts(is.Properties.IPTags, want) {
		d.CannotFollow(field+".ipTags", "public address %s keeps the tags that it was created with (put them back, or give a new address another name)", is.Name)
	}
}

// sameTexts reports whether two lists have the same things, which Azure shows in any case and order.
func sameTexts[T any](a, b []T) bool {
	set := func(list []T) []string {
		var out []string
		for _, x := range list {
			out = append(out, strings.ToLower(fmt.Sprint(x)))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return slices.Equal(set(a), set(b))
}

// nameAddress decides about the name in DNS of a public address that nothing depends on.
func (v *view) nameAddress(d *steps.Decision, is *arm.Resource[arm.PublicIP], ip *api.PublicIP) {
	if ip == nil || ip.DNSName == "" || strings.EqualFold(is.Properties.DNS.Label, labelIn(ip.DNSName)) {
		return
	}
	label := labelIn(ip.DNSName)
	d.Add(steps.Step{What: "call public address " + is.Name + " " + label, Do: func(ctx context.Context) error {
		err := v.edit(ctx, is.ID, func(p map[string]any) error {
			dns, ok := p["dnsSettings"].(map[string]any)
			if !ok {
				dns = make(map[string]any)
				p["dnsSettings"] = dns
			}
			dns["domainNameLabel"] = label
			return nil
		})
		if err == nil {
			is.Properties.DNS.Label = label
		}
		return err
	}})
}
