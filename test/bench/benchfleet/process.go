package main

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

// A process is one that the measurement started.
type process struct {
	cmd   *exec.Cmd
	log   string // file
	ended chan error
}

// start runs the program at binary; what it prints goes into name.log in dir.
func start(dir, name, binary string, args ...string) (*process, error) {
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
	p := &process{cmd: cmd, log: file.Name(), ended: make(chan error, 1)}
	go func() { p.ended <- cmd.Wait() }()
	return p, nil
}

// stop ends the process and waits for it.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case err := <-p.ended:
		return err
	case <-time.After(time.Minute):
		return errors.Join(fmt.Errorf("%s did not end within a minute", p.cmd), p.cmd.Process.Kill())
	}
}

// serves waits until the process answers at url.
func (p *process) serves(ctx context.Context, url string) error {
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
			return res.Body.Close()
		}
		select {
		case <-tick.C:
		case err := <-p.ended:
			return fmt.Errorf("%s ended: %w; its log is %s", p.cmd, err, p.log)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", p.cmd, err)
		}
	}
}

// A usage is what a process has used so far.
type usage struct {
	cpu  float64 // seconds
	rss  int     // MiB, now
	peak int     // MiB, at most
}

// usage reads the operating system's own accounting.
func (p *process) usage() (usage, error) {
	var u usage
	pid := strconv.Itoa(p.cmd.Process.Pid)
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return u, err
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	u.cpu = (user + system) / ticksPerSecond
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "VmRSS:"):
			u.rss, _ = strconv.Atoi(f[1])
		case strings.HasPrefix(line, "VmHWM:"):
			u.peak, _ = strconv.Atoi(f[1])
		}
	}
	u.rss, u.peak = u.rss/1024, u.peak/1024
	return u, nil
}
