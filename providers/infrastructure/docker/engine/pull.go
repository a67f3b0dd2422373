package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/moby/moby/client"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// pullRules say what refusals of a pull mean. Within a pull that began, the daemon has words alone.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var pullRules = []transport.Rule{
	{Statuses: []int{http.StatusUnauthorized, http.StatusForbidden}, Kind: fleet.Unauthorized},
	{Words: regexp.MustCompile(`(?i)unauthorized|denied|authentication required|no basic auth`), Kind: fleet.Unauthorized},
	{Statuses: []int{http.StatusNotFound}, Kind: fleet.Invalid},
	{Words: regexp.MustCompile(`(?i)manifest unknown|not found|no matching manifest`), Kind: fleet.Invalid},
	{Statuses: []int{5}, Kind: fleet.Unavailable},
}

// quiet is how long a daemon may say nothing of a pull.
const quiet = 5 * time.Minute

// Pull has the daemon pull an image, and returns when the host has it. progress is called with the bytes of its
// layers that are there, and those that the daemon knows of. The error has the daemon's own words. Its kind is
// Unauthorized or Invalid if the registry refuses the image, and otherwise Unavailable.
func (c *Client) Pull(ctx context.Context, image string, progress func(done, all int64)) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(quiet, func() { cancel(errors.New("the daemon said nothing for 5 minutes")) })
	defer silence.Stop()
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		err = transport.Looked(transport.Wrap("", err, func(err error) (fleet.ErrorKind, error) { return fleet.Unavailable, err }))
	}()
	body, err := send(ctx, &outcome{stream: true, rules: pullRules}, func(ctx context.Context) (client.ImagePullResponse, error) {
		return c.moby.ImagePull(ctx, image, client.ImagePullOptions{})
	})
	if err != nil {
		return err
	}
	defer body.Close()
	layers := make(map[string][2]int64)
	for d := json.NewDecoder(body); ; {
		var m struct { // Moby's has no Error, which is all that podman 4 sets
			ID, Status, Error string
			ErrorDetail       struct{ Message string }
			ProgressDetail    struct{ Current, Total int64 }
		}
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		silence.Reset(quiet)
		if words := cmp.Or(m.ErrorDetail.Message, m.Error); words != "" {
			return refusal(pullRules, http.MethodPost, http.StatusInternalServerError, []byte(words))
		}
		switch p := m.ProgressDetail; {
		case m.Status == "Downloading" && p.Total > 0:
			layers[m.ID] = [2]int64{p.Current, p.Total}
		case m.Status == "Download complete" || m.Status == "Pull complete":
			layers[m.ID] = [2]int64{layers[m.ID][1], layers[m.ID][1]}
		default:
			continue
		}
		var done, all int64
		for _, l := range layers {
			done, all = done+l[0], all+l[1]
		}
		progress(done, all)
	}
}
