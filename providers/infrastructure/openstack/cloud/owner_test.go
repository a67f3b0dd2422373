package cloud_test

import (
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

func eu1() snapshot.Owner {
	return snapshot.Owner{Fleet: "fleet-a", Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}}
}

func TestFormatOwner(t *testing.T) {
	for want, o := range map[string]snapshot.Owner{
		"[fairlead.dev fleet=fleet-a cluster=prod/eu-1]":             eu1(),
		"[fairlead.dev fleet=fleet-a cluster=prod/eu-1 machine=m-0]": eu1().Part("m-0"),
	} {
		for _, text := range []string{"", "for the nodes", "two\nlines", "[fairlead.dev fleet=x cluster=y/z]"} {
			got := cloud.FormatOwner(text, o)
			if !strings.HasSuffix(got, want) || !strings.HasPrefix(got, text) {
				t.Errorf("FormatOwner(%q) = %q, want it to end with %q", text, got, want)
			}
			if is, ok := cloud.ParseOwner(got); !ok || is != o {
				t.Errorf("ParseOwner(%q) = %v, %v, want %v", got, is, ok, o)
			}
		}
	}
}

func TestParseOwnerIsStrict(t *testing.T) {
	for _, description := range []string{
		"", "eu-1", "fleet=fleet-a cluster=prod/eu-1",
		"[fairlead.dev fleet=fleet-a cluster=prod/eu-1] ", // something behind it
		"[fairlead.dev fleet=fleet-a cluster=eu-1]",
		"[fairlead.dev fleet= cluster=prod/eu-1]",
		"[fairlead.dev cluster=prod/eu-1 fleet=fleet-a]",
		"[fairlead.dev fleet=fleet-a cluster=prod/eu-1 machine=]",
		"[fairlead.dev fleet=fleet-a cluster=prod/eu/1]",
		"x[fairlead.dev fleet=fleet-a cluster=prod/eu-1]",
		"[FAIRLEAD.dev fleet=fleet-a cluster=prod/eu-1]",
	} {
		if o, ok := cloud.ParseOwner(description); ok {
			t.Errorf("ParseOwner(%q) = %v, want nobody", description, o)
		}
	}
}

func TestMetadata(t *testing.T) {
	tags := map[string]string{fleet.TagFleet: "fleet-a", fleet.TagCluster: "prod/eu-1", fleet.TagMachine: "m-0"}
	meta := cloud.Metadata(tags)
	if meta["fairlead.dev:fleet"] != "fleet-a" || len(meta) != 3 {
		t.Errorf("metadata = %v, want keys without a slash", meta)
	}
	meta["theirs/x"], meta["a:b"] = "1", "2"
	if got := cloud.Tags(meta); !maps.Equal(got, tags) {
		t.Errorf("tags = %v, want %v", got, tags)
	}
	if o, ok := cloud.MetadataOwner(meta); !ok || o != eu1().Part("m-0") {
		t.Errorf("owner = %v, %v", o, ok)
	}
	for _, without := range []string{"fairlead.dev:fleet", "fairlead.dev:cluster"} {
		part := maps.Clone(meta)
		delete(part, without)
		if o, ok := cloud.MetadataOwner(part); ok {
			t.Errorf("owner without %s = %v, want nobody", without, o)
		}
	}
	meta["fairlead.dev:cluster"] = "eu-1"
	if o, ok := cloud.MetadataOwner(meta); ok {
		t.Errorf("owner of a cluster without a namespace = %v, want nobody", o)
	}
}

// A text that is too long is cut, the mark never.
func TestFormatOwnerCuts(t *testing.T) {
	o := eu1().Part("m-0")
	for _, text := range []string{strings.Repeat("x", 300), strings.Repeat("ü", 300), strings.Repeat("x", cloud.Room(o))} {
		got := cloud.FormatOwner(text, o)
		if n := utf8.RuneCountInString(got); n != 255 {
			t.Errorf("%d characters, want 255", n)
		}
		if is, ok := cloud.ParseOwner(got); !ok || is != o {
			t.Errorf("ParseOwner(%q) = %v, %v", got, is, ok)
		}
	}
	o.Cluster.Name = strings.Repeat("x", 300)
	if got := cloud.FormatOwner("text", o); cloud.Room(o) >= 0 || !strings.HasPrefix(got, "[fairlead.dev ") {
		t.Errorf("%q, room for %d, want the mark alone", got, cloud.Room(o))
	}
}
