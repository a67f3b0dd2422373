// Package api has the kinds of the provider docker, as Cluster API's provider CAPD has them: DockerCluster,
// DockerMachine and their templates.
package api
