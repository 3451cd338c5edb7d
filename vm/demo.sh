#!/bin/sh
# What the demo shows: each command as a person would type it, then what it
# prints.

type_and_run() {
    echo
    echo "# $*"
    sh -c "$*"
}

echo "some text" >/demo/file

type_and_run "inject list should_failslab" || exit

# About one start of the workload in fifty is itself hit by a fault; a person
# would type it again. 123 and 125 are inject's own failures.
for attempt in 1 2 3; do
    type_and_run "inject should_failslab --rate 1% -- /demo/workload"
    status=$?
    case $status in
        0) break ;;
        123 | 125) exit $status ;;
    esac
done
[ "$status" = 0 ] || exit $status

type_and_run "/demo/workload" &&
    type_and_run "inject list should_failslab" &&
    type_and_run "wc -l /sys/kernel/tracing/enabled_functions"
