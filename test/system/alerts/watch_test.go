package alerts

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A watch is a Prometheus with its targets, an Alertmanager, and a receiver of alerts.
type watch struct {
	t       *testing.T
	dir     string
	address string // of Prometheus

	mu      sync.Mutex
	targets map[string]target  // by address
	firing  map[[2]string]bool // alerts that fire, by alert and world
	fired   map[[2]string]bool
}

type target struct{ world, instance string }

// hasten returns the rules with durations of seconds. Each alert with a threshold of time
// has one here.
func hasten(t *testing.T, rules string) string {
	t.Helper()
	rules = regexp.MustCompile(`(?m)^( +for:) \w+$`).ReplaceAllString(rules, "$1 8s")
	rules = regexp.MustCompile(`\[\d+[mh]\]`).ReplaceAllString(rules, "[30s]")
	for _, s := range [][2]string{
		{"_longest_pass_seconds > 1800", "_longest_pass_seconds > 8"},
		{"_progress_timestamp_seconds) > 1800", "_progress_timestamp_seconds) > 8"},
		{"_queue_wait_seconds_bucket[30s]))) > 60", "_queue_wait_seconds_bucket[30s]))) > 1"},
	} {
		if !strings.Contains(rules, s[0]) {
			t.Fatalf("the rules have no %q", s[0])
		}
		rules = strings.ReplaceAll(rules, s[0], s[1])
	}
	return rules
}

// newWatch starts them; args are more of Prometheus's arguments.
func newWatch(t *testing.T, args ...string) *watch {
	t.Helper()
	prometheus, alertmanager := program(t, "prometheus"), program(t, "prometheus-alertmanager")
	w := &watch{
		t: t, dir: t.TempDir(), address: freeAddress(t), targets: make(map[string]target),
		firing: make(map[[2]string]bool), fired: make(map[[2]string]bool),
	}
	pager := httptest.NewServer(http.HandlerFunc(w.page))
	t.Cleanup(pager.Close)
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	am := freeAddress(t)
	w.file("rules.yaml", hasten(t, string(rules)))
	w.file("alertmanager.yaml", fmt.Sprintf(`
route: {receiver: pager, group_by: [...], group_wait: 1s, group_interval: 1s, repeat_interval: 1h}
receivers: [{name: pager, webhook_configs: [{url: %q, send_resolved: true}]}]
`, pager.URL))
	w.file("prometheus.yaml", fmt.Sprintf(`
global: {scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s}
rule_files: [rules.yaml]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs: [{job_name: agents, honor_labels: true, file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]}]
`, am))
	w.aim()
	w.program(alertmanager, "--config.file=alertmanager.yaml", "--storage.path=alertmanager", "--web.listen-address="+am, "--cluster.listen-address=")
	w.program(prometheus, append([]string{
		"--config.file=prometheus.yaml", "--storage.tsdb.path=prometheus", "--web.listen-address=" + w.address, "--rules.alert.resend-delay=2s",
	}, args...)...)
	for _, address := range []string{am, w.address} {
		eventually(t, "http://"+address+" is ready", func() error {
			resp, err := http.Get("http://" + address + "/-/ready")
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("%s", resp.Status)
			}
			return nil
		})
	}
	return w
}

func (w *watch) file(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watch) program(path string, args ...string) {
	w.t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir = w.dir
	log := &buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was ended
		if w.t.Failed() {
			w.t.Logf("the end of the log of %s:\n%s", filepath.Base(path), log.tail())
		}
	})
}

// scrape adds an agent of a world to what is scraped.
func (w *watch) scrape(world, instance string, p *process) {
	w.mu.Lock()
	w.targets[p.address] = target{world, instance}
	w.mu.Unlock()
	w.aim()
}

// leave removes an agent from the targets.
func (w *watch) leave(p *process) {
	w.mu.Lock()
	delete(w.targets, p.address)
	w.mu.Unlock()
	w.aim()
}

// aim writes the targets for Prometheus.
func (w *watch) aim() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	groups := []group{}
	for address, t := range w.targets {
		groups = append(groups, group{[]string{address}, map[string]string{"job": "fairlead", "namespace": t.world, "instance": t.instance}})
	}
	b, err := json.Marshal(groups)
	if err != nil {
		w.t.Fatal(err)
	}
	temporary := filepath.Join(w.dir, "targets.tmp")
	if err := os.WriteFile(temporary, b, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(w.dir, "targets.json")); err != nil {
		w.t.Fatal(err)
	}
}

// page receives what Alertmanager sends.
func (w *watch) page(out http.ResponseWriter, r *http.Request) {
	var body struct {
		Alerts []struct {
			Status string            `json:"status"`
			Labels map[string]string `json:"labels"`
		} `json:"alerts"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range body.Alerts {
		world := a.Labels["namespace"]
		if world == "" {
			world = a.Labels["fleet"]
		}
		k := [2]string{a.Labels["alertname"], world}
		w.firing[k] = a.Status == "firing"
		if a.Status == "firing" {
			w.fired[k] = true
		}
	}
}

// woken returns an error unless the alert of that world fires.
func (w *watch) woken(alert, world string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.firing[[2]string{alert, world}] {
		return nil
	}
	return fmt.Errorf("%s of %s does not fire; of it there fired %v", alert, world, w.of(world))
}

func (w *watch) calm(alert, world string) error {
	if w.woken(alert, world) == nil {
		return fmt.Errorf("%s of %s still fires", alert, world)
	}
	return nil
}

// all returns the alerts of that world that have ever fired.
func (w *watch) all(world string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of(world)
}

func (w *watch) of(world string) []string {
	var out []string
	for k := range w.fired {
		if k[1] == world {
			out = append(out, k[0])
		}
	}
	return out
}

// get asks Prometheus's API, and reads data of its answer into out.
func (w *watch) get(path string, query url.Values, out any) error {
	resp, err := http.Get("http://" + w.address + "/api/v1/" + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var body struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(b, &body); err != nil || body.Status != "success" {
		return fmt.Errorf("%s %v: %s %s", path, query, resp.Status, body.Error)
	}
	return json.Unmarshal(body.Data, out)
}

// query returns the values of the series that an expression has now, but those
// that are no numbers.
func (w *watch) query(expr string) ([]float64, error) {
	var data struct {
		Result []struct{ Value [2]any }
	}
	if err := w.get("query", url.Values{"query": {expr}}, &data); err != nil {
		return nil, err
	}
	var out []float64
	for _, r := range data.Result {
		text, _ := r.Value[1].(string)
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out, nil
}
