package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A probe does the same thing again and again, and knows how long it did not work.
type probe struct {
	w      *world
	what   string
	cancel context.CancelFunc
	done   sync.WaitGroup

	asked, failed int
	longest       time.Duration // from one success to the next
	errors        []string      // each text once
}

// probe begins to ask, every so often.
func (w *world) probe(what string, every time.Duration, ask func(context.Context) error) *probe {
	ctx, cancel := context.WithCancel(w.ctx)
	p := &probe{w: w, what: what, cancel: cancel}
	w.t.Cleanup(func() { cancel(); p.done.Wait() })
	p.done.Go(func() { p.run(ctx, every, ask) })
	return p
}

func (p *probe) run(ctx context.Context, every time.Duration, ask func(context.Context) error) {
	seen := make(map[string]bool)
	for good := time.Now(); ; {
		err := ask(ctx)
		if ctx.Err() != nil {
			return
		}
		p.asked++
		if err == nil {
			now := time.Now()
			p.longest, good = max(p.longest, now.Sub(good)), now
		} else if p.failed++; !seen[err.Error()] {
			seen[err.Error()] = true
			p.errors = append(p.errors, err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// end ends it and prints what it saw, and returns the errors, each text once.
func (p *probe) end() []string {
	p.cancel()
	p.done.Wait()
	p.w.measure("%s: %d times, of which %d did not work; the longest time without %s", p.what, p.asked, p.failed, p.longest.Round(10*time.Millisecond))
	for _, text := range p.errors {
		p.w.measure("%s: %s", p.what, text)
	}
	return p.errors
}

// probeAPI asks the cluster's API servers for an object, on a new connection each time.
func (w *world) probeAPI(config string) *probe {
	w.t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", config)
	if err != nil {
		w.t.Fatal(err)
	}
	tlsConfig, err := rest.TLSConfigFor(c)
	if err != nil {
		w.t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	return w.probe("requests to the API", 100*time.Millisecond, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Host+"/api/v1/namespaces/default", nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s %w", res.Status, err)
		}
		return nil
	})
}

// serial returns the serial number of the certificate that an API server shows.
func (w *world) serial(address string) (string, error) {
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Second}, Config: &tls.Config{InsecureSkipVerify: true}} // it is looked at, and nothing is said
	conn, err := d.DialContext(w.ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}
