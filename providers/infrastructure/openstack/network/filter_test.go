package network

import (
	"testing"

	"fairlead.dev/providers/infrastructure/openstack/api"
)

// Filters match as Neutron's do.
func TestFilter(t *testing.T) {
	tags := func(all, anyOf, notAll, none []api.NeutronTag) api.FilterByNeutronTags {
		return api.FilterByNeutronTags{Tags: all, TagsAny: anyOf, NotTags: notAll, NotTagsAny: none}
	}
	by := func(f api.NeutronFilter) api.NeutronParam { return api.NeutronParam{Filter: &f} }
	type list = []api.NeutronTag
	cases := map[string]struct {
		ask  api.NeutronParam
		want bool
	}{
		"everything":       {api.NeutronParam{}, true},
		"id":               {api.NeutronParam{ID: new("1")}, true},
		"another id":       {api.NeutronParam{ID: new("2")}, false},
		"name":             {by(api.NeutronFilter{Name: "n"}), true},
		"another name":     {by(api.NeutronFilter{Name: "m"}), false},
		"description":      {by(api.NeutronFilter{Description: "e"}), false},
		"project":          {by(api.NeutronFilter{ProjectID: "q"}), false},
		"all tags":         {by(api.NeutronFilter{FilterByNeutronTags: tags(list{"a", "b"}, nil, nil, nil)}), true},
		"a tag too many":   {by(api.NeutronFilter{FilterByNeutronTags: tags(list{"a", "c"}, nil, nil, nil)}), false},
		"any tag":          {by(api.NeutronFilter{FilterByNeutronTags: tags(nil, list{"c", "b"}, nil, nil)}), true},
		"no tag of any":    {by(api.NeutronFilter{FilterByNeutronTags: tags(nil, list{"c"}, nil, nil)}), false},
		"not all of them":  {by(api.NeutronFilter{FilterByNeutronTags: tags(nil, nil, list{"a", "c"}, nil)}), true},
		"all of them":      {by(api.NeutronFilter{FilterByNeutronTags: tags(nil, nil, list{"a", "b"}, nil)}), false},
		"none of them":     {by(api.NeutronFilter{FilterByNeutronTags: tags(nil, nil, nil, list{"c"})}), true},
		"one of them":      {by(api.NeutronFilter{FilterByNeutronTags: tags(nil, nil, nil, list{"c", "a"})}), false},
		"name and project": {by(api.NeutronFilter{Name: "n", ProjectID: "p"}), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := matches(&tc.ask, "1", "n", "d", "p", []string{"a", "b"}); got != tc.want {
				t.Errorf("%+v: %v, want %v", tc.ask, got, tc.want)
			}
		})
	}
}
