package forecast

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkOf forecasts one pool of many machines: all new, all replaced, and all gone.
func BenchmarkOf(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		size := fmt.Sprintf("replicas=%d surge=%d unavailable=%d", n, n, n)
		for _, c := range []struct{ name, from, to string }{
			{"new", "", "pool md " + size},
			{"replaced", "pool md " + size, "pool md template=x " + size},
			{"gone", "pool md " + size, "pool md replicas=0"},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				s := newScript()
				define := func(lines string) {
					s.in.Desired = empty()
					for line := range strings.Lines("control-plane replicas=3\n" + lines) {
						fields := strings.Fields(line)
						if err := s.git(fields[0], parse(fields[1:])); err != nil {
							b.Fatal(err)
						}
					}
				}
				define(c.from)
				if err := s.rest(); err != nil {
					b.Fatal(err)
				}
				define(c.to)
				in := s.input()
				b.ReportAllocs()
				b.ResetTimer()
				for b.Loop() {
					if f := Of(in); len(f.Changes) != n || len(f.Notes) > 0 {
						b.Fatalf("%d changes, %q", len(f.Changes), f.Notes)
					}
				}
			})
		}
	}
}
