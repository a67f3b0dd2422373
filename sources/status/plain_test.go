package status

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// page is what a proxy in front of a cloud answers, by somebody who means harm.
var page = strings.Repeat("<p>\x1b]0;owned\x07\x1b[2J502 Bad\u202e Gateway</p>\r\n", 64<<10/40)

// fill sets each text in v to the page, and gives each list and map an element.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(page)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), depth)
			}
		}
	case reflect.Slice:
		if depth > 6 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(element, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, element)
	case reflect.Pointer:
		if depth > 6 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	default:
	}
}

// Whatever field of a report holds what others say, now or later: what is written on the
// status branch cannot steer a terminal, and is bounded.
func TestFilesArePlain(t *testing.T) {
	var r fleet.Report
	fill(reflect.ValueOf(&r).Elem(), 0)
	r.Cluster, r.Phase = fleet.Key{Namespace: "prod", Name: "eu-1"}, fleet.PhaseProvisioned
	cluster, err := encodeCluster(newCluster(r, Cluster{}, time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)))
	if err != nil {
		t.Fatal(err)
	}
	line, err := encodeLine(r)
	if err != nil {
		t.Fatal(err)
	}
	var s sources.FleetStatus
	fill(reflect.ValueOf(&s).Elem(), 0)
	f, err := encodeFleet(s, map[string]int{page: 1}, [][]byte{line})
	if err != nil {
		t.Fatal(err)
	}
	var o fleet.Owner
	fill(reflect.ValueOf(&o).Elem(), 0)
	var q fleet.Request
	fill(reflect.ValueOf(&q).Elem(), 0)
	asked, err := encodeDocs("", fileOf(q))
	if err != nil {
		t.Fatal(err)
	}
	for what, data := range map[string][]byte{"a cluster": cluster, "the fleet": f, "a request": asked} {
		if strings.ContainsAny(string(data), "\x1b\x07\u202e") || strings.Contains(string(data), `\e`) || strings.Contains(string(data), `\x1b`) {
			t.Errorf("the file of %s steers terminals: %.300q", what, data)
		}
		if !strings.Contains(string(data), "502 Bad") {
			t.Errorf("the file of %s does not tell what happened", what)
		}
		if len(data) > 1<<20 {
			t.Errorf("the file of %s has %d bytes", what, len(data))
		}
	}
}
