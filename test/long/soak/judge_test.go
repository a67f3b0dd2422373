package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestJudge: the judge notices an earlier process that goes on, and a fleet that nobody cares for.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		days func(j *judge)
		want string
	}{
		"one after the other": {func(j *judge) {
			j.change(1, "v1/vms/create")
			j.change(2, "v1/vms/create")
			time.Sleep(4 * time.Second)
			j.change(1, "v1/vms/create") // it read who acts before the second one began
			time.Sleep(time.Hour)
			j.change(2, "v1/vms/create")
		}, ""},
		"two at once": {func(j *judge) {
			j.change(1, "v1/vms/create")
			j.change(2, "v1/vms/create")
			time.Sleep(6 * time.Second)
			j.change(1, "v1/vms/delete")
		}, "start 1 asked for v1/vms/delete 6s after start 2 began"},
		"care": {func(j *judge) {
			for range 10 {
				j.look("v1/vms/list")
				time.Sleep(time.Minute)
			}
		}, ""},
		"no care": {func(j *judge) {
			j.look("v1/vms/list")
			time.Sleep(3 * time.Minute)
			j.look("v1/networks/list")
		}, "nobody cared for the clusters for 3m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, err := newJudge("http://127.0.0.1:1")
				if err != nil {
					t.Fatal(err)
				}
				c.days(j)
				if got := j.verdict(); (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Error(), c.want) {
					t.Errorf("the verdict is %v, want %q", got, c.want)
				}
			})
		})
	}
}
