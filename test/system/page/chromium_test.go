package page

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/test/run/needs"
)

// A chromium is a browser, driven over its DevTools protocol through a pipe.
type chromium struct {
	t    testing.TB
	to   *os.File
	mu   sync.Mutex
	next int
	wait map[int]chan answer
	tabs map[string]*tab // by session
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// message is what a browser says: an answer, or an event.
type message struct {
	ID        int
	Method    string
	Params    json.RawMessage
	SessionID string `json:"sessionId"`
	answer
}

// patience is how long a browser may take for one answer on a busy machine.
const patience = 60 * time.Second

// browser starts a Chromium with a fresh profile, or skips t.
func browser(t testing.TB) *chromium {
	t.Helper()
	program, err := needs.LookPath("chromium-headless-shell")
	if err != nil {
		program = needs.Program(t, "chromium", "apt-get install chromium-headless-shell")
	}
	args := []string{
		"--remote-debugging-pipe", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(), "about:blank",
	}
	if os.Getuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...)
	}
	hear, said, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	told, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.ExtraFiles = []*os.File{told, said} // its 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // and its children
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told.Close()
	said.Close()
	b := &chromium{t: t, to: to, wait: map[int]chan answer{}, tabs: map[string]*tab{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.listen(hear)
	}()
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		to.Close()
		hear.Close()
		<-ended
	})
	return b
}

// listen hands on what the browser says until it ends.
func (b *chromium) listen(from *os.File) {
	for r := bufio.NewReader(from); ; {
		line, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if c, ok := b.wait[m.ID]; ok && m.ID != 0 {
			delete(b.wait, m.ID)
			c <- m.answer
		} else if t := b.tabs[m.SessionID]; t != nil {
			t.heard(m)
		}
		b.mu.Unlock()
	}
}

// call calls a method and decodes its result into out.
func (b *chromium) call(session, method string, params, out any) error {
	b.mu.Lock()
	b.next++
	id, c := b.next, make(chan answer, 1)
	b.wait[id] = c
	b.mu.Unlock()
	text, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params, "sessionId": session})
	if session == "" {
		text, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return err
	}
	select {
	case a := <-c:
		if a.Error != nil {
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(a.Result, out)
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer within %s", method, patience)
	}
}

// A tab is one page that is open.
type tab struct {
	*chromium

	session  string
	requests []string // addresses that were asked for
	console  []string // errors, violations of policies among them
}

// tab opens one of a size, in a colour scheme.
func (b *chromium) tab(width, height int, scheme string) *tab {
	b.t.Helper()
	var target struct{ TargetID string }
	var session struct{ SessionID string }
	err := b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	if err == nil {
		err = b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	t := &tab{chromium: b, session: session.SessionID}
	b.mu.Lock()
	b.tabs[t.session] = t
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		t.do(domain+".enable", map[string]any{}, nil)
	}
	t.resize(width, height)
	t.scheme(scheme)
	return t
}

// resize gives the window of the tab another size.
func (t *tab) resize(width, height int) {
	t.t.Helper()
	t.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// scheme has the tab prefer a colour scheme.
func (t *tab) scheme(name string) {
	t.t.Helper()
	t.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": name}}}, nil)
}

// heard notes an event.
func (t *tab) heard(m message) {
	var p struct {
		Request          struct{ URL string }
		Entry            struct{ Level, Text, URL string }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	_ = json.Unmarshal(m.Params, &p) // of events with other fields nothing is noted
	switch m.Method {
	case "Network.requestWillBeSent":
		t.requests = append(t.requests, p.Request.URL)
	case "Log.entryAdded":
		t.console = append(t.console, p.Entry.Text+" "+p.Entry.URL)
	case "Runtime.exceptionThrown":
		t.console = append(t.console, p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description)
	}
}

// do calls a method of the tab.
func (t *tab) do(method string, params, out any) {
	t.t.Helper()
	if err := t.call(t.session, method, params, out); err != nil {
		t.t.Fatal(err)
	}
}

// open goes to an address and waits until its script listens.
func (t *tab) open(url string) {
	t.t.Helper()
	t.do("Page.navigate", map[string]any{"url": url}, nil)
	t.until(fmt.Sprintf(`location.href === %q && document.readyState === "complete" && document.getElementById("news")?.textContent === "live"`, url))
}

// eval returns the value of an expression, as text.
func (t *tab) eval(expression string) string {
	t.t.Helper()
	text, err := t.try(expression)
	if err != nil {
		t.t.Fatal(err)
	}
	return text
}

func (t *tab) try(expression string) (string, error) {
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	err := t.call(t.session, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &out)
	if err == nil && out.ExceptionDetails != nil {
		err = errors.New(out.ExceptionDetails.Exception.Description)
	}
	if s, ok := out.Result.Value.(string); ok {
		return s, err
	}
	text, _ := json.Marshal(out.Result.Value) // it came as JSON
	return string(text), err
}

// until waits for a condition to hold.
func (t *tab) until(condition string) {
	t.t.Helper()
	ask := time.NewTicker(50 * time.Millisecond)
	defer ask.Stop()
	deadline := time.After(patience)
	for {
		if got, err := t.try("!!(" + condition + ")"); err == nil && got == "true" {
			return
		}
		select {
		case <-ask.C:
		case <-deadline:
			body, _ := t.try("document.body.innerText.slice(0, 2000)")
			t.t.Fatalf("it does not hold: %s; console: %v; the page says:\n%s", condition, t.said(), body)
		}
	}
}

// press presses keys, such as "Tab", "Enter", "/" or "j".
func (t *tab) press(keys ...string) {
	t.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13}
	for _, k := range keys {
		text := k
		switch {
		case k == "Enter":
			text = "\r"
		case codes[k] != 0:
			text = ""
		}
		down := map[string]any{"type": "keyDown", "key": k, "text": text, "windowsVirtualKeyCode": codes[k]}
		t.do("Input.dispatchKeyEvent", down, nil)
		t.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": k, "windowsVirtualKeyCode": codes[k]}, nil)
	}
}

// picture returns a screenshot in a format, "webp" or "png".
func (t *tab) picture(format string) []byte {
	t.t.Helper()
	var out struct{ Data string }
	params := map[string]any{"format": format}
	if format == "webp" {
		params["quality"] = 82
	}
	t.do("Page.captureScreenshot", params, &out)
	b, err := base64.StdEncoding.DecodeString(out.Data)
	if err != nil {
		t.t.Fatal(err)
	}
	return b
}

// said returns what is in the console.
func (t *tab) said() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.console...)
}

// asked returns addresses outside of base that the tab asked for.
func (t *tab) asked(base string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, r := range t.requests {
		if !strings.HasPrefix(r, base) && r != "about:blank" {
			out = append(out, r)
		}
	}
	return out
}

// close closes the tab.
func (t *tab) close() {
	_ = t.call(t.session, "Page.close", map[string]any{}, nil) // it may be gone
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tabs, t.session)
}
