package kubeapi_test

import (
	"context"
	"net"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/providers/infrastructure/inmemory/kubeapi"
)

// heap returns the bytes of heap and stacks in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// BenchmarkServers makes clusters of two nodes that listen, before any client
// connects.
func BenchmarkServers(b *testing.B) {
	authority := newCA(b, "kubernetes")
	o := kubeapi.Options{CACert: authority.certPEM, CAKey: authority.keyPEM, CertSANs: []string{"127.0.0.1"}, Version: "v1.34.1"}
	if _, err := kubeapi.New(o); err != nil { // what is shared is made once
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var servers []*kubeapi.Server
	before := heap()
	for b.Loop() {
		s, err := kubeapi.New(o)
		if err != nil {
			b.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		go func() { _ = s.Serve(ctx, l) }()
		for _, name := range []string{"cp", "w"} {
			if err := s.Upsert(node(name, corev1.ConditionTrue)); err != nil {
				b.Fatal(err)
			}
		}
		servers = append(servers, s)
	}
	b.ReportMetric(float64(heap()-before)/float64(len(servers)), "B/server")
	runtime.KeepAlive(servers)
}
