package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// profileCPU writes a CPU profile of the agent for each half minute into dir, until ctx ends.
func (a *agent) profileCPU(ctx context.Context, dir string) {
	const window = 30 * time.Second
	for i := 0; ctx.Err() == nil; i++ {
		if err := a.profile(ctx, filepath.Join(dir, fmt.Sprintf("cpu-%02d.pprof", i)), "profile?seconds="+fmt.Sprint(window.Seconds())); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
	}
}

// profile writes what the agent serves under /debug/pprof as kind into file.
func (a *agent) profile(ctx context.Context, file, kind string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.listen+"/debug/pprof/"+kind, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("cannot profile the agent: %s: %s", res.Status, data)
	}
	return os.WriteFile(file, data, 0o644)
}
