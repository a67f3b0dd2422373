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
	type list = []api.NeutronTag
	cases := map[string]struct {
		ask  common
		want bool
	}{
		"everything":       {common{}, true},
		"id":               {common{id: "1"}, true},
		"another id":       {common{id: "2"}, false},
		"name":             {common{name: "n"}, true},
		"another name":     {common{name: "m"}, false},
		"description":      {common{description: "e"}, false},
		"project":          {common{project: "q"}, false},
		"all tags":         {common{tags: tags(list{"a", "b"}, nil, nil, nil)}, true},
		"a tag too many":   {common{tags: tags(list{"a", "c"}, nil, nil, nil)}, false},
		"any tag":          {common{tags: tags(nil, list{"c", "b"}, nil, nil)}, true},
		"no tag of any":    {common{tags: tags(nil, list{"c"}, nil, nil)}, false},
		"not all of them":  {common{tags: tags(nil, nil, list{"a", "c"}, nil)}, true},
		"all of them":      {common{tags: tags(nil, nil, list{"a", "b"}, nil)}, false},
		"none of them":     {common{tags: tags(nil, nil, nil, list{"c"})}, true},
		"one of them":      {common{tags: tags(nil, nil, nil, list{"c", "a"})}, false},
		"name and project": {common{name: "n", project: "p"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.ask.match("1", "n", "d", "p", []string{"a", "b"}); got != tc.want {
				t.Errorf("%+v: %v, want %v", tc.ask, got, tc.want)
			}
		})
	}
}
