#!/bin/sh
# What the demo shows: each command as a person would type it, then what it
# prints.

type_and_run() {
    echo
    echo "# $*"
    sh -c "$*"
}

echo "some text" >/demo/file

type_and_run "inject list should_failslab"
type_and_run "inject should_failslab --rate 1% -- /demo/workload" || exit
type_and_run "/demo/workload"
type_and_run "inject list should_failslab"
type_and_run "wc -l /sys/kernel/tracing/enabled_functions"
