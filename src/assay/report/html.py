def report_html(bundle):
    return "<!doctype html>"
