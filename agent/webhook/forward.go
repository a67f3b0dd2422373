package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// forwardedHeader marks a call that a replica passed on, so that it is passed
	// on once.
	forwardedHeader = "Fairlead-Forwarded"
	forwardTimeout  = 5 * time.Second
)

func forwarder() *http.Client {
	return &http.Client{
		Timeout:   forwardTimeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute}, // replicas are behind no proxy
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// forward passes a call on to the replica that leads as it came: that one
// verifies it itself, with the same secret, and needs not trust who passes it.
func (h *Handler) forward(ctx context.Context, r *http.Request, leader string, body []byte) error {
	switch {
	case leader == "":
		return errors.New("no replica leads at the moment")
	case r.Header.Get(forwardedHeader) != "":
		return errors.New("another replica took this one for the leader")
	}
	to, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+leader+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	to.Header = r.Header.Clone()
	for _, name := range []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Content-Length"} {
		to.Header.Del(name)
	}
	to.Header.Set(forwardedHeader, "true")
	res, err := h.client.Do(to)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the replica at %s answered %s", leader, res.Status)
	}
	return nil
}
