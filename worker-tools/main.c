/* worker-tools: runs the tools of agents. */
#include "process.h"
#include "workbench.h"
#include "worker_tools.h"

static int
serve(struct worker_tools_settings *settings, int argc, char *argv[])
{
	struct service *service;
	struct worker_tools *tools;

	process_open();
	service = service_start("worker-tools", worker_tools_table, settings, argc, argv);
	tools = worker_tools_new(service, settings);
	service_run(service, worker_tools_drain, tools);
	worker_tools_destroy(&tools);
	process_close();
	return service_stop(&service);
}

int
main(int argc, char *argv[])
{
	static struct worker_tools_settings settings;
	const char *const *rest;
	int status;

	settings_parse(
	    worker_tools_table, &settings, &worker_tools_help, argc, argv, &rest);
	if (settings.answer[0] != NULL && settings.call == NULL)
		settings_refuse("worker-tools", "--answer", settings.answer[0],
		    "given together with --call TOOL, which asks");
	if (!settings.check && !settings.list && settings.call == NULL) {
		settings_release(worker_tools_table, &settings);
		return serve(&settings, argc, argv);
	}
	if (settings.check)
		status = workbench_check(&settings, rest);
	else
		status = settings.list ? workbench_list(&settings)
				       : workbench_call(&settings, rest);
	settings_release(worker_tools_table, &settings);
	return status;
}
