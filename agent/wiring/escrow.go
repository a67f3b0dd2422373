package wiring

import (
	"cmp"
	"context"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
)

// OpenEscrow returns the place that e names.
func (s Settings) OpenEscrow(e fleet.Escrow) (escrow.Place, error) {
	if e.Folder != "" {
		return escrow.Folder(e.Folder), nil
	}
	if e.Repository != "" {
		if err := s.mayReach(e.Repository); err != nil {
			return nil, err
		}
		s.StatusRepository = e.Repository
	}
	if s.StatusRepository == "" && IsFolder(s.Source) {
		return nil, fleet.Errorf(fleet.Invalid, "open the escrow", "the source is a folder and has no branches: name spec.escrow.folder or spec.escrow.repository")
	}
	if f, err := s.statusFolder(); f != nil && err == nil {
		return nil, fleet.Errorf(fleet.Invalid, "open the escrow", "the status is in a folder, which has no other branches: name spec.escrow.folder or spec.escrow.repository")
	}
	b, err := s.openBranch(e.Branch, nil)
	if err != nil {
		return nil, err
	}
	return escrow.Branch(e.Branch, b), nil
}

// OpenSignedEscrow returns the place that e names, to be read. Where there are request
// keys, one of them must have signed the newest commit there, and signed is true. A
// folder has no commits.
func (s Settings) OpenSignedEscrow(e fleet.Escrow) (p escrow.Place, signed bool, err error) {
	if p, err = s.OpenEscrow(e); err != nil || len(s.RequestKeys) == 0 || e.Folder != "" {
		return p, false, err
	}
	url := cmp.Or(e.Repository, s.StatusRepository, s.Source)
	s = s.ofStatus()
	s.Ref, s.TrustedKeys = "refs/heads/"+e.Branch, s.RequestKeys
	r, err := s.repository(url)
	if err != nil {
		return nil, false, err
	}
	return escrow.FromSource(p.String(), r), true, nil
}

// mayReach refuses to send the credentials to a host that only Git names.
func (s Settings) mayReach(repository string) error {
	var known []string
	for _, k := range []string{s.StatusRepository, s.Source} {
		if k != "" && !IsFolder(k) {
			known = append(known, k)
		}
	}
	return escrow.MayReach(repository, known)
}

// escrow returns what keeps the secrets of w in escrow. Nothing is written there
// without asking guard.
func (s Settings) escrow(w *Runtime, guard func() error) func(fleet.ID, fleet.Escrow) (escrow.Copy, error) {
	return func(id fleet.ID, e fleet.Escrow) (escrow.Copy, error) {
		p, err := s.OpenEscrow(e)
		if err != nil {
			return nil, err
		}
		return escrow.NewKeeper(escrow.Guarded(p, guard), secrets.OfFleet(w.Secrets, id), escrow.Options{Fleet: id, Recipients: e.Recipients})
	}
}

// EscrowOf returns what fleet.yaml of the source says of an escrow.
func (s Settings) EscrowOf(ctx context.Context) (fleet.Escrow, error) {
	f, err := s.Render(ctx, RenderOptions{AllowUnset: true, Sealed: func(string, string) {}})
	return f.Config.Escrow, err
}
