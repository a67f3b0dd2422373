package render_test

import (
	"context"
	"fmt"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
)

// BenchmarkOnePushInThousand renders a push of one changed overlay of 1,000.
func BenchmarkOnePushInThousand(b *testing.B) {
	builder := newBuilder(render.Options{})
	before := overlays(1000)
	next := func(i int) *memTree {
		t := before.with(fmt.Sprintf("-- clusters/group-07/c0350/patch.yaml --\n%sspec: {count: %d}\n", clusterYAML("default", "base"), i))
		t.index()
		return t
	}
	run := func(t *memTree) {
		f, err := builder.Render(context.Background(), fleet.Revision{Digest: "sha1:1"}, t)
		if err != nil || len(f.Clusters) != 1000 {
			b.Fatal(err, len(f.Clusters), lines(f.Problems[:min(3, len(f.Problems))]))
		}
	}
	run(next(-1))
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		t := next(i)
		b.StartTimer()
		run(t)
		if builder.stats.Built != 1 {
			b.Fatalf("built %d overlays, want 1", builder.stats.Built)
		}
	}
}

// BenchmarkThousand renders 1,000 overlays for the first time.
func BenchmarkThousand(b *testing.B) {
	t := overlays(1000)
	t.index()
	for b.Loop() {
		builder := newBuilder(render.Options{})
		f, err := builder.Render(context.Background(), fleet.Revision{Digest: "sha1:1"}, t)
		if err != nil || len(f.Clusters) != 1000 {
			b.Fatal(err, len(f.Clusters))
		}
	}
}
