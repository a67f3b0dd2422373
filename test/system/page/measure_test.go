//go:build linux

package page

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/agent/console/page/pagetest"
)

// measured skips t unless somebody asks for a measurement, and says how busy the machine is.
func measured(t *testing.T) {
	t.Helper()
	if os.Getenv("FAIRLEAD_MEASURE") == "" {
		t.Skip("a measurement: make bench-page")
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("load before: %s", strings.TrimSpace(string(load)))
}

// TestMeasurePaint measures how long a browser takes until a fleet is seen, and what is sent.
func TestMeasurePaint(t *testing.T) {
	measured(t)
	b := browser(t)
	for _, clusters := range []int{1000, 10_000} {
		_, base := serve(t, pagetest.Fleet(clusters, 5))
		tab := b.tab(1440, 900, "light")
		var paints []int
		for range 10 {
			tab.open(base + "/")
			time.Sleep(time.Second) // an idle page
			ms, err := strconv.Atoi(tab.eval(`Math.round(performance.getEntriesByName("first-contentful-paint")[0].startTime)`))
			if err != nil {
				t.Fatal(err)
			}
			paints = append(paints, ms)
		}
		first, again := paints[0], slices.Sorted(slices.Values(paints[1:]))
		t.Logf("%d clusters: first paint after %d ms in a tab that was just opened, then %d to %d ms, median %d; %s bytes, %s on the wire, and %s for what it loads", clusters,
			first, again[0], again[len(again)-1], again[len(again)/2],
			tab.eval(`performance.getEntriesByType("navigation")[0].decodedBodySize`), tab.eval(`performance.getEntriesByType("navigation")[0].transferSize`),
			tab.eval(`performance.getEntriesByType("resource").reduce((n, e) => n + e.transferSize, 0)`))
		tab.close()
	}
}

// serverVariable has a process of this test serve a fleet that changes.
const serverVariable = "FAIRLEAD_MEASURE_SERVER"

// TestMeasuredServer is what TestMeasureTabs measures: a page of 1,000 clusters, of which ten
// change a second.
func TestMeasuredServer(t *testing.T) {
	if os.Getenv(serverVariable) == "" {
		t.Skip("a part of TestMeasureTabs")
	}
	news := pagetest.Fleet(1000, 5)
	p, base := serve(t, news)
	fmt.Println(base)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, os.Stdin) // until the other process closes it, or is gone
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-gone:
			return
		case <-tick.C:
		}
		news.Status.Clusters = slices.Clone(news.Status.Clusters)
		news.Status.Clusters[i*7%1000].Report.Failure = fmt.Sprintf("No valid host was found, %d times", i)
		p.Show(news)
	}
}

// TestMeasureTabs measures what 100 tabs cost the process that serves them, over connections
// of their own, while ten clusters a second change.
func TestMeasureTabs(t *testing.T) {
	measured(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestMeasuredServer$")
	cmd.Env = append(os.Environ(), serverVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSpace(line)
	const long = 20 * time.Second
	var bytes atomic.Int64
	for _, tabs := range []int{0, 100} {
		for range tabs {
			listen(t, base, &bytes)
		}
		time.Sleep(10 * time.Second) // until all listen
		cpu, sent := cpuTime(t, cmd.Process.Pid), bytes.Load()
		time.Sleep(long)
		t.Logf("%d tabs: %.3f cores, %.1f MiB of memory, %d bytes a second and tab", tabs, (cpuTime(t, cmd.Process.Pid)-cpu).Seconds()/long.Seconds(),
			float64(memory(t, cmd.Process.Pid))/(1<<20), (bytes.Load()-sent)/int64(long.Seconds())/int64(max(tabs, 1)))
	}
}

// listen opens the fleet and listens, as a tab does, until the test ends.
func listen(t *testing.T, base string, bytes *atomic.Int64) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}} // a connection of its own
	get := func(address string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	first := get(base + "/")
	body, err := io.ReadAll(first.Body)
	first.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	seq := regexp.MustCompile(`data-seq="([^"]+)"`).FindSubmatch(body)[1]
	stream := get(base + "/events?of=fleet&since=" + string(seq))
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 64<<10)
		for {
			n, err := stream.Body.Read(buffer)
			bytes.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		stream.Body.Close()
		<-done
		client.CloseIdleConnections()
	})
}

// cpuTime returns how long a process has computed.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(b[strings.LastIndex(string(b), ")")+1:]))
	var ticks int
	for _, f := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// memory returns how much memory a process has, in bytes.
func memory(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var kib int64
	for line := range strings.Lines(string(b)) {
		if n, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 && err == nil {
			return kib << 10
		}
	}
	t.Fatal("it has no memory")
	return 0
}
