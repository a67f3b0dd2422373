package render_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// BenchmarkThousandOfOneClass renders 1,000 clusters of one class that nobody
// has seen.
func BenchmarkThousandOfOneClass(b *testing.B) {
	files := thousandOfOneClass()
	for b.Loop() {
		f, err := classBuilder().Render(context.Background(), fleet.Revision{Digest: "sha1:1"}, files)
		if err != nil || len(f.Clusters) != 1000 {
			b.Fatal(err, len(f.Clusters), lines(f.Problems)[:1])
		}
	}
}

// BenchmarkClassChangesInThousand renders a push that changes the class of 1,000
// clusters.
func BenchmarkClassChangesInThousand(b *testing.B) {
	files := thousandOfOneClass()
	builder := classBuilder()
	run := func(t *memTree) {
		f, err := builder.Render(context.Background(), fleet.Revision{Digest: "sha1:1"}, t)
		if err != nil || len(f.Clusters) != 1000 {
			b.Fatal(err, len(f.Clusters), lines(f.Problems)[:1])
		}
	}
	run(files)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		next := files.with(strings.ReplaceAll(strings.Split(classFiles("classes/dev"), "-- classes/dev/templates.yaml")[0], "default: 10s", fmt.Sprintf("default: %ds", 11+i)))
		next.index()
		b.StartTimer()
		run(next)
	}
}

func thousandOfOneClass() *memTree {
	var s strings.Builder
	s.WriteString(strings.Split(classFleet(), "-- clusters/a/")[0])
	for i := range 1000 {
		s.WriteString(overlayFiles(fmt.Sprintf("clusters/c%04d", i), classCluster(fmt.Sprintf("c%04d", i))))
	}
	t := tree(s.String())
	t.index()
	return t
}
