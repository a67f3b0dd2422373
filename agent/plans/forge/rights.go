package forge

import (
	"context"
	"net/http"

	"fairlead.dev/fleet"
)

// MayWrite implements Forge: statuses need push access.
func (h *githubLike) MayWrite(ctx context.Context) (bool, error) {
	if h.app != "" {
		return false, fleet.Errorf(fleet.Unknown, "ask for the rights of the credential", "GitHub does not tell a repository's reader which permissions an app has there")
	}
	var repo struct {
		Permissions *struct {
			Push bool `json:"push"`
		} `json:"permissions"`
	}
	if _, err := h.call(ctx, http.MethodGet, h.repo, nil, &repo); err != nil {
		return false, err
	}
	if repo.Permissions == nil {
		return false, fleet.Errorf(fleet.Unknown, "ask for the rights of the credential", "the forge does not tell them")
	}
	return repo.Permissions.Push, nil
}

// labDeveloper is the least access that may set statuses.
// Source: https://docs.gitlab.com/user/permissions.
const labDeveloper = 30

// MayWrite implements Forge.
func (l *gitlab) MayWrite(ctx context.Context) (bool, error) {
	type access struct {
		Level int `json:"access_level"`
	}
	var project struct {
		Permissions *struct {
			Project *access `json:"project_access"`
			Group   *access `json:"group_access"`
		} `json:"permissions"`
	}
	if _, err := l.call(ctx, http.MethodGet, l.project, nil, &project); err != nil {
		return false, err
	}
	if project.Permissions == nil {
		return false, fleet.Errorf(fleet.Unknown, "ask for the rights of the credential", "the forge does not tell them")
	}
	level := 0
	for _, a := range []*access{project.Permissions.Project, project.Permissions.Group} {
		if a != nil {
			level = max(level, a.Level)
		}
	}
	return level >= labDeveloper, nil
}
