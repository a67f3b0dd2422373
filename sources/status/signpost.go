package status

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// signpostsFolder is the folder of the default status branch with a file for each fleet whose
// status is on another branch. An agent that cannot read the name of its branch in fleet.yaml, or
// reads a new one there, finds its status by it.
const signpostsFolder = "signposts"

// Signpost says on branch b that the status of fleet id is on the branch called name.
func Signpost(ctx context.Context, b sources.Branch, id fleet.ID, name string) error {
	return post(ctx, b, id, name, func(fs.FS, string) error { return nil })
}

// Post is Signpost for a fleet without an owner. The error is of kind Conflict if the signpost leads neither to the
// branch was, which is empty for no signpost, nor to name, and if another than owner owns branch b: a server that
// lags behind may have said that no agent owns it.
func Post(ctx context.Context, b sources.Branch, id fleet.ID, was, name string, owner fleet.Owner) error {
	return post(ctx, b, id, name, func(t fs.FS, now string) error {
		op := "write a signpost for fleet " + string(id)
		if now != was && now != name {
			return fleet.Errorf(fleet.Conflict, op, "it leads to branch %q meanwhile", now)
		}
		if o, err := readOwner(t); err == nil && o != owner {
			return fleet.Errorf(fleet.Conflict, op, "agent %q owns the branch meanwhile", o.Agent)
		}
		return nil
	})
}

// post writes the signpost, if may permits that where the present one leads.
func post(ctx context.Context, b sources.Branch, id fleet.ID, name string, may func(t fs.FS, now string) error) error {
	return commit(ctx, b, "write a signpost for fleet "+string(id), func(t fs.FS, _ bool) (sources.Commit, error) {
		now := readSignposts(t)[id]
		if err := may(t, now); err != nil || now == name {
			return sources.Commit{}, err
		}
		p := signpostsFolder + "/" + string(id) + ".yaml"
		content, err := signpostKind.encode(p, movedFile{typeMeta: signpostKind.meta(), Branch: name})
		return sources.Commit{Edits: map[string][]byte{p: content}, Message: fmt.Sprintf("fleet %s: the status is on %s", id, name)}, err
	})
}

// readSignposts returns the branches that signposts of t name. A damaged one counts for nothing: the
// agent that runs writes it again when it starts.
func readSignposts(t fs.FS) map[fleet.ID]string {
	entries, _ := fs.ReadDir(t, signpostsFolder)
	posts := make(map[fleet.ID]string, len(entries))
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".yaml")
		b, err := fs.ReadFile(t, signpostsFolder+"/"+e.Name())
		var f movedFile
		if ok && err == nil && signpostKind.decode(b, &f) == nil && f.Branch != "" {
			posts[fleet.ID(id)] = f.Branch
		}
	}
	return posts
}
