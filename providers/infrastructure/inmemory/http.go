package inmemory

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
)

// maxBody bounds what a request to a cloud may hold: user data is the most.
const maxBody = 4 << 20

// A failure is an error on the wire.
type failure struct {
	Kind    fleet.ErrorKind `json:"kind"`
	Op      string          `json:"op"`
	Message string          `json:"message"`
}

// filter asks for what carries tags; reference names one thing.
type (
	filter struct {
		Tags map[string]string `json:"tags,omitempty"`
	}
	reference struct {
		ID string `json:"id"`
	}
	scale struct {
		ID    string `json:"id"`
		Count int    `json:"count"`
	}
	nothing struct{}
)

// Handler serves a cloud to clients made by [Dial]: each call is a POST of JSON.
// It authenticates no client: serve it on a loopback address.
func Handler(c *Cloud) http.Handler {
	mux := http.NewServeMux()
	handle(mux, "identity/get", func(ctx context.Context, _ nothing) (string, error) { return c.Identify(ctx) })
	handle(mux, "networks/list", func(ctx context.Context, f filter) ([]Network, error) { return c.Networks(ctx, f.Tags) })
	handle(mux, "networks/create", c.CreateNetwork)
	handle(mux, "networks/delete", func(ctx context.Context, r reference) (nothing, error) {
		return nothing{}, c.DeleteNetwork(ctx, r.ID)
	})
	handle(mux, "vms/list", func(ctx context.Context, f filter) ([]VM, error) { return c.VMs(ctx, f.Tags) })
	handle(mux, "vms/create", c.CreateVM)
	handle(mux, "vms/delete", func(ctx context.Context, r reference) (nothing, error) { return nothing{}, c.DeleteVM(ctx, r.ID) })
	handle(mux, "vms/stop", func(ctx context.Context, r reference) (nothing, error) { return nothing{}, c.StopVM(ctx, r.ID) })
	handle(mux, "vms/start", func(ctx context.Context, r reference) (nothing, error) { return nothing{}, c.StartVM(ctx, r.ID) })
	handle(mux, "tags/set", func(ctx context.Context, r retag) (nothing, error) { return nothing{}, c.SetTags(ctx, r.ID, r.Tags) })
	handle(mux, "releases/set", func(ctx context.Context, r ReleaseSpec) (nothing, error) { return nothing{}, c.SetRelease(ctx, r) })
	handle(mux, "planes/list", func(ctx context.Context, _ nothing) ([]Plane, error) { return c.Planes(ctx) })
	handle(mux, "planes/create", c.CreatePlane)
	handle(mux, "planes/set", func(ctx context.Context, p Plane) (nothing, error) { return nothing{}, c.SetPlane(ctx, p) })
	handle(mux, "pools/create", c.CreatePool)
	handle(mux, "pools/update", c.UpdatePool)
	handle(mux, "pools/delete", func(ctx context.Context, r reference) (nothing, error) { return nothing{}, c.DeletePool(ctx, r.ID) })
	handle(mux, "pools/scale", func(ctx context.Context, r scale) (nothing, error) { return nothing{}, c.ScalePool(ctx, r.ID, r.Count) })
	handle(mux, "faults/get", func(ctx context.Context, _ nothing) (Faults, error) { return c.Faults(ctx) })
	handle(mux, "faults/set", func(ctx context.Context, f Faults) (nothing, error) { return nothing{}, c.SetFaults(ctx, f) })
	mux.HandleFunc("POST /v1/watch", func(w http.ResponseWriter, r *http.Request) { serveWatch(w, r, c) })
	return mux
}

// handle serves call f at path. The call runs to its end even where the client
// leaves: what was sent is done.
func handle[In, Out any](mux *http.ServeMux, path string, f func(context.Context, In) (Out, error)) {
	mux.HandleFunc("POST /v1/"+path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var in In
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil {
			reply(w, http.StatusBadRequest, failure{Kind: fleet.Invalid, Op: path, Message: err.Error()})
			return
		}
		out, err := f(context.WithoutCancel(r.Context()), in)
		if err != nil {
			fail := failure{Kind: fleet.KindOf(err), Op: path, Message: err.Error()}
			if e, ok := errors.AsType[*fleet.Error](err); ok {
				fail.Op, fail.Message = e.Op, e.Err.Error()
			}
			reply(w, statusOf(fail.Message), fail)
			return
		}
		reply(w, http.StatusOK, out)
	})
}

// statusOf returns the status code that a failure's own words begin with, as
// "429 Too Many Requests"; 409 where they begin with none.
func statusOf(message string) int {
	code, _, _ := strings.Cut(message, " ")
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && http.StatusText(n) != "" {
		return n
	}
	return http.StatusConflict
}

func reply(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone: the error has no reader
}

// serveWatch writes one line for each change until the client leaves.
func serveWatch(w http.ResponseWriter, r *http.Request, c *Cloud) {
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	_ = control.Flush()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	enc := json.NewEncoder(w)
	_ = c.Watch(ctx, func(o Owner) {
		if enc.Encode(o) != nil || control.Flush() != nil {
			cancel()
		}
	})
}
