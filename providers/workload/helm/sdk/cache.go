package sdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"fairlead.dev/fleet"
)

// The bounds of what charts may take.
const (
	maxIndex     = 64 << 20 // bytes of the index of a repository
	maxArchive   = 32 << 20 // bytes of a packed chart
	maxCache     = 128 << 20
	fetchTimeout = 2 * time.Minute
)

// A ChartCache fetches charts from their repositories, and keeps those that were used
// last in memory: a thousand clusters with one chart are one download. What it keeps is
// bounded by bytes; golang-lru bounds the number of entries. It is safe for concurrent use.
type ChartCache struct {
	flight singleflight.Group

	mu       sync.Mutex
	archives map[string][]byte
	used     []string // keys of archives, the last used one at the end
	size     int
}

// Chart returns c as a. A version that is kept is not asked for again.
func (l *ChartCache) Chart(ctx context.Context, c fleet.Chart, a fleet.ChartAccess) (*chartv2.Chart, error) {
	op := "fetch chart " + c.String() + " from " + c.Repository
	pack, err := l.pack(ctx, c, a)
	if err != nil {
		return nil, &fleet.Error{Kind: fetchKind(err), Op: op, Err: err}
	}
	left := archive.MaxDecompressedChartSize
	files, err := unpack(pack, 1, &left)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "it cannot be read: %w", err)
	}
	chart, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "it cannot be read: %w", err)
	}
	base := c.Name[strings.LastIndex(c.Name, "/")+1:]
	switch m := chart.Metadata; {
	case m.Name != base || strings.TrimPrefix(m.Version, "v") != strings.TrimPrefix(c.Version, "v"):
		return nil, fleet.Errorf(fleet.Invalid, op, "the repository has chart %s %s in its place", m.Name, m.Version)
	case m.Type != "" && m.Type != "application":
		return nil, fleet.Errorf(fleet.Invalid, op, "it is a chart of type %s, which cannot be installed", m.Type)
	}
	return chart, nil
}

// pack returns c as a package.
func (l *ChartCache) pack(ctx context.Context, c fleet.Chart, a fleet.ChartAccess) ([]byte, error) {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(c.Repository), []byte(c.Name), []byte(c.Version), a.Credentials.Reveal(), a.CA.Reveal()} {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	key := hex.EncodeToString(h.Sum(nil))
	if a.Insecure {
		key += "-insecure"
	}
	if pack, ok := l.kept(key); ok {
		return pack, nil
	}
	// Who asks first may leave: the others still want it.
	got := l.flight.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
		defer cancel()
		pack, err := fetch(ctx, c, a)
		if err == nil {
			l.keep(key, pack)
		}
		return pack, err
	})
	select {
	case r := <-got:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.([]byte), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *ChartCache) kept(key string) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pack, ok := l.archives[key]
	if ok {
		l.use(key)
	}
	return pack, ok
}

func (l *ChartCache) keep(key string, pack []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.archives == nil {
		l.archives = make(map[string][]byte)
	}
	l.size += len(pack) - len(l.archives[key])
	l.archives[key] = pack
	l.use(key)
	for l.size > maxCache {
		oldest := l.used[0]
		l.size -= len(l.archives[oldest])
		delete(l.archives, oldest)
		l.used = l.used[1:]
	}
}

func (l *ChartCache) use(key string) {
	l.used = append(slices.DeleteFunc(l.used, func(k string) bool { return k == key }), key)
}
