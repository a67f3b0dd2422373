package driver_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
)

func TestCheck(t *testing.T) {
	silent := errors.New("no answer")
	got := driver.Check([]*fleet.Cluster{{Key: key("eu-1")}, {Key: key("eu-2")}}, "cloud", func(c *fleet.Cluster, note driver.Note) error {
		note("flavor", "m1.small is there", nil)
		if c.Key.Name == "eu-1" {
			return silent
		}
		note("quota", "", silent)
		return nil
	})
	want := []providers.Finding{
		{Clusters: []fleet.Key{key("eu-1")}, What: "flavor", Text: "m1.small is there"},
		{Clusters: []fleet.Key{key("eu-1")}, What: "cloud", Err: silent},
		{Clusters: []fleet.Key{key("eu-2")}, What: "flavor", Text: "m1.small is there"},
		{Clusters: []fleet.Key{key("eu-2")}, What: "quota", Err: silent},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateErrors()); d != "" {
		t.Errorf("findings (-want +have): %s", d)
	}
}
