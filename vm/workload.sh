#!/bin/sh
# Opens and reads a small file over and over: each open allocates from the
# slab. Shell builtins only, since a fork allocates a hundred times and would
# fail nearly always.

file=/demo/file
errors=/tmp/workload-errors
opens=3000

read_over_and_over() {
    failed=0
    i=0
    while [ "$i" -lt "$opens" ]; do
        i=$((i + 1))
        read -r line <"$file" || failed=$((failed + 1))
    done
}

# This open is under injection as well.
until read_over_and_over 2>"$errors"; do :; done

echo "$opens opens, $failed failed"
if [ "$failed" -gt 0 ]; then
    # So is this one.
    until read -r first <"$errors"; do :; done
    echo "the first error: $first"
fi
