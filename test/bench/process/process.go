// Package process starts the programs that a benchmark measures, and reads what they use.
package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of CPU times in /proc on Linux.
const ticksPerSecond = 100

// A Process is one that the measurement started.
type Process struct {
	Log   string     // file
	Ended chan error // receives how it ended, once
	cmd   *exec.Cmd
}

// Start runs the program at binary; what it prints goes into name.log in dir.
func Start(dir, name, binary string, args ...string) (*Process, error) {
	file, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, Log: file.Name(), Ended: make(chan error, 1)}
	go func() { p.Ended <- cmd.Wait() }()
	return p, nil
}

// Stop ends the process and waits for it.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case err := <-p.Ended:
		return err
	case <-time.After(time.Minute):
		return errors.Join(fmt.Errorf("%s did not end within a minute", p.cmd), p.cmd.Process.Kill())
	}
}

// Serves waits until the process answers at url.
func (p *Process) Serves(ctx context.Context, url string) error {
	return p.answers(ctx, url, func(int) bool { return true })
}

// Ready waits until the process answers at url that all is well.
func (p *Process) Ready(ctx context.Context, url string) error {
	return p.answers(ctx, url, func(status int) bool { return status == http.StatusOK })
}

// answers waits until the process answers at url with a status that is one of those wanted.
func (p *Process) answers(ctx context.Context, url string, wanted func(status int) bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			res.Body.Close()
			if wanted(res.StatusCode) {
				return nil
			}
			err = fmt.Errorf("%s answers %s", url, res.Status)
		}
		select {
		case <-tick.C:
		case ended := <-p.Ended:
			return fmt.Errorf("%s ended: %w; its log is %s", p.cmd, ended, p.Log)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w; its log is %s", p.cmd, errors.Join(ctx.Err(), err), p.Log)
		}
	}
}

// A Usage is what a process has used so far.
type Usage struct {
	CPU  float64 // seconds
	RSS  int     // MiB, now
	Peak int     // MiB, at most
}

// Usage returns what the process has used so far.
func (p *Process) Usage() (Usage, error) { return UsageOf(p.cmd.Process.Pid) }

// UsageOf reads the operating system's own accounting of the process with that id.
func UsageOf(id int) (Usage, error) {
	var u Usage
	pid := strconv.Itoa(id)
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return u, err
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	u.CPU = (user + system) / ticksPerSecond
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "VmRSS:"):
			u.RSS, _ = strconv.Atoi(f[1])
		case strings.HasPrefix(line, "VmHWM:"):
			u.Peak, _ = strconv.Atoi(f[1])
		}
	}
	u.RSS, u.Peak = u.RSS/1024, u.Peak/1024
	return u, nil
}
