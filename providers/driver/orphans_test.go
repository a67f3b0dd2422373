package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
)

func key(name string) fleet.Key { return fleet.Key{Namespace: "prod", Name: name} }

// TestSearch: places are listed once each, what two of them show is found once, and one that does not
// answer hides nothing of another.
func TestSearch(t *testing.T) {
	lost := func(place, id, key string) driver.Lost[string] {
		return driver.Lost[string]{Orphan: fleet.Orphan{Place: place, Kind: "host", ID: id}, Key: key, Thing: "thing " + id}
	}
	var listed []string
	s := driver.Search[string, string]{
		Places: func(c *fleet.Cluster) ([]string, error) {
			if c.Key.Name == "unreadable" {
				return nil, errors.New("no Secret")
			}
			return strings.Split(c.Key.Name, "-"), nil
		},
		Same: func(a, b string) (bool, error) {
			if b == "strange" {
				return false, errors.New("who are you")
			}
			return strings.EqualFold(a, b), nil
		},
		List: func(at string) ([]driver.Lost[string], error) {
			listed = append(listed, at)
			switch at {
			case "silent":
				return []driver.Lost[string]{lost("silent", "3", "")}, errors.New("no answer of the others")
			case "other":
				return []driver.Lost[string]{lost("other", "1", "one"), lost("other", "2", "")}, nil
			}
			return []driver.Lost[string]{lost(at, "2", ""), lost(at, "1", "one")}, nil
		},
	}
	found, failed := s.In([]*fleet.Cluster{{Key: key("place-silent")}, {Key: key("unreadable")}, {Key: key("PLACE-strange-other")}})
	var got []string
	for _, f := range found {
		got = append(got, f.Place+" "+f.ID)
	}
	if d := cmp.Diff([]string{"other 2", "place 1", "place 2", "silent 3"}, got); d != "" {
		t.Errorf("found (-want +have): %s", d)
	}
	if got := fmt.Sprint(failed); got != "[no Secret who are you no answer of the others]" {
		t.Errorf("failed are %s", got)
	}
	if d := cmp.Diff([]string{"place", "silent", "other"}, listed); d != "" {
		t.Errorf("listed (-want +have): %s", d)
	}
	if is := driver.Find(found, fleet.Orphan{Place: "place", Kind: "host", ID: "2"}); is == nil || is.Thing != "thing 2" {
		t.Errorf("Find = %v", is)
	}
	if is := driver.Find(found, fleet.Orphan{Place: "elsewhere", Kind: "host", ID: "2"}); is != nil {
		t.Errorf("Find = %v, want none: it is in another place", is)
	}
	if d := cmp.Diff(fleet.Orphan{Place: "other", Kind: "host", ID: "2"}, driver.Orphans(found)[0]); d != "" {
		t.Errorf("orphan (-want +have): %s", d)
	}
}

func TestIsLost(t *testing.T) {
	known := []*fleet.Cluster{{Key: key("eu-1")}}
	tags := func(id, cluster string) map[string]string {
		return map[string]string{fleet.TagFleet: id, fleet.TagCluster: cluster}
	}
	for reason, tc := range map[string]struct {
		tags map[string]string
		id   fleet.ID
		want bool
	}{
		"its cluster is there":   {tags("acme", "prod/eu-1"), "acme", false},
		"its cluster is gone":    {tags("acme", "prod/eu-2"), "acme", true},
		"it is another fleet's":  {tags("other", "prod/eu-2"), "acme", false},
		"it is nobody's":         {nil, "acme", false},
		"nobody asks for nobody": {nil, "", false},
	} {
		if got := driver.IsLost(tc.tags, tc.id, known); got != tc.want {
			t.Errorf("%s: IsLost = %v", reason, got)
		}
	}
}

func TestClusters(t *testing.T) {
	var ready driver.Memory[snapshot.Owner, bool]
	ready.Note(snapshot.Owner{Fleet: "acme", Cluster: key("new")}, true)
	ready.Note(snapshot.Owner{Fleet: "other", Cluster: key("theirs")}, true)
	list := func(at string) ([]snapshot.Owner, error) {
		if at == "silent" {
			return nil, errors.New("no answer")
		}
		return []snapshot.Owner{{Fleet: "acme", Cluster: key("eu-2")}, {Fleet: "acme", Cluster: key("eu-1")}, {Fleet: "other", Cluster: key("eu-3")}}, nil
	}
	got, failed := driver.Clusters("acme", []string{"a", "silent", "b"}, list, &ready)
	if d := cmp.Diff([]fleet.Key{key("eu-1"), key("eu-2"), key("new")}, got); d != "" || len(failed) != 1 {
		t.Errorf("%v, clusters (-want +have): %s", failed, d)
	}
	if got, _ := driver.Clusters("acme", []string{"silent"}, list, nil); len(got) > 0 {
		t.Errorf("clusters are %v, want none", got)
	}
}
