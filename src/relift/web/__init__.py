"""The workbench in the browser: `relift serve`.

    server    what is served, to whom: routes, tokens, origins
    nursery   a process for each request, made from one that has everything imported, and ended with its client
    guard     what such a process may take, and what a user's Python may do in it
    warm      what is the same for all requests, done once before the first
    landlock  the files that it reaches, limited by the kernel
    work      what is done for a request, as a stream of sections
    operations  how many operations a program takes
    printed   rules and programs from the text in which they are printed, which runs no Python
    picks     programs and rules to begin with
    static/   the page: HTML, CSS and a script, without a framework

It needs `relift[web]`.
"""
