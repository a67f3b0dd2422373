package page_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/console/page"
	"fairlead.dev/agent/console/page/pagetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A listener is a tab that listens.
type listener struct {
	mu   sync.Mutex
	body bytes.Buffer
	head http.Header
	code int
	stop context.CancelFunc
	done chan struct{}
}

func (l *listener) Header() http.Header  { return l.head }
func (l *listener) WriteHeader(code int) { l.code = code }
func (l *listener) Flush()               {}
func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.body.Write(b)
}

// heard returns what was sent since it was asked last.
func (l *listener) heard() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.body.Reset()
	return l.body.String()
}

func listen(t *testing.T, p *page.Page, query string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &listener{head: http.Header{}, stop: cancel, done: make(chan struct{})}
	r := httptest.NewRequest(http.MethodGet, "/events?"+query, nil).WithContext(ctx)
	r.Host = "localhost"
	go func() {
		defer close(l.done)
		p.ServeHTTP(l, r)
	}()
	t.Cleanup(func() { cancel(); <-l.done })
	return l
}

// number returns the number of the state that p shows.
func number(p *page.Page) string {
	return regexp.MustCompile(`data-seq="([^"]+)"`).FindStringSubmatch(get(p, "/").Body.String())[1]
}

// TestStream: a tab learns of what changed, and of nothing else; in silence there are signs
// of life.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		news := pagetest.Fleet(5, 3)
		p := shown(t, 1, nil)
		p.Show(news)
		list, one, other := listen(t, p, "of=fleet&since="+number(p)), listen(t, p, "of=c/prod/ams-0000&since="+number(p)), listen(t, p, "of=problems&since="+number(p))
		synctest.Wait()
		for _, l := range []*listener{list, one, other} {
			if got := l.heard(); got != "event: beat\ndata: \n\n" {
				t.Errorf("at first there is %q", got)
			}
		}
		news.Status.Clusters = append([]status.Cluster(nil), news.Status.Clusters...)
		for i := range news.Status.Clusters {
			if c := &news.Status.Clusters[i]; c.Report.Cluster == pagetest.Key(0) {
				c.Report.Failure = "the cloud is on fire"
			}
		}
		p.Show(news)
		time.Sleep(time.Second)
		got := list.heard()
		if !strings.Contains(got, "the cloud is on fire") || strings.Contains(got, "cdg-0001") || strings.Contains(got, "event: list") || !strings.Contains(got, "id: "+number(p)+"\n\n") {
			t.Errorf("the list is told\n%s", got)
		}
		for line := range strings.Lines(strings.TrimSpace(got)) {
			if !regexp.MustCompile(`^(data: <|id: )`).MatchString(line) {
				t.Errorf("there is a line %q", line)
			}
		}
		if got := one.heard(); !strings.Contains(got, "the cloud is on fire") {
			t.Errorf("the cluster is told\n%s", got)
		}
		time.Sleep(15 * time.Second)
		if got := one.heard(); got != "event: beat\ndata: \n\n" {
			t.Errorf("in silence there is %q", got)
		}
		list.heard()
		news.Status.Clusters = news.Status.Clusters[1:]
		p.Show(news)
		time.Sleep(time.Second)
		if got := list.heard(); !strings.Contains(got, "event: list\n") {
			t.Errorf("a cluster went, and the list is told\n%s", got)
		}
	})
}

// TestManyNews: however often something changes, a tab is told twice a second.
func TestManyNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := shown(t, 1, nil)
		news := pagetest.Fleet(1, 1)
		l := listen(t, p, "of=agent&since="+number(p))
		synctest.Wait()
		l.heard()
		for range 100 {
			news.Facts = append(news.Facts, page.Fact{Name: "x", Value: "y"})
			p.Show(news)
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if n := strings.Count(l.heard(), "\nid: "); n < 8 || n > 12 {
			t.Errorf("in five seconds it is told %d times", n)
		}
	})
}

// TestAnotherProcess: a tab whose number is of another process begins anew.
func TestAnotherProcess(t *testing.T) {
	p := shown(t, 1, nil)
	o := options()
	o.Started = pagetest.Start().Add(time.Hour)
	after, err := page.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, since := range []string{number(p), "", "x-1", number(after) + "0"} {
		l := listen(t, after, "of=fleet&since="+since)
		<-l.done
		if got := l.heard(); !strings.HasPrefix(got, "event: reload\n") {
			t.Errorf("after %q there is %q", since, got)
		}
	}
	if w := get(p, "/events?of=none&since="+number(p)); w.Code != http.StatusNotFound {
		t.Errorf("an unknown view is answered with %d", w.Code)
	}
}

// TestTooManyTabs: streams are bounded, and a tab that goes makes room.
func TestTooManyTabs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Streams = 2
		p, err := page.New(o)
		if err != nil {
			t.Fatal(err)
		}
		since := "of=fleet&since=" + number(p)
		first, _ := listen(t, p, since), listen(t, p, since)
		synctest.Wait()
		if w := get(p, "/events?"+since); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("a third tab is answered with %d", w.Code)
		}
		first.stop()
		<-first.done
		if l := listen(t, p, since); l != nil {
			synctest.Wait()
			if got := l.heard(); !strings.HasPrefix(got, "event: beat") {
				t.Errorf("a tab after one that went is told %q, %d", got, l.code)
			}
		}
	})
}

// TestGone: a tab on a cluster that goes learns so.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := shown(t, 3, nil)
		l := listen(t, p, "of=c/"+pagetest.Key(1).String()+"&since="+number(p))
		synctest.Wait()
		l.heard()
		p.Show(page.News{Status: status.Status{Owner: fleet.Owner{Agent: "a"}}})
		time.Sleep(time.Second)
		if got := l.heard(); !strings.HasPrefix(got, "event: gone\n") {
			t.Errorf("it is told %q", got)
		}
	})
}

// TestClose: streams end with the page, so that a server does not wait for them.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := shown(t, 1, nil)
		l := listen(t, p, "of=fleet&since="+number(p))
		synctest.Wait()
		p.Close()
		<-l.done
	})
}
