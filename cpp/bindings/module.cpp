#include "bindings/module.hpp"

NB_MODULE(_core, module) {
    module.doc() = "The compiled core of coreplan. Not a public interface.";
    coreplan::bindings::bind_monitor(module);
    coreplan::bindings::bind_model(module);
    coreplan::bindings::bind_dp(module);
    coreplan::bindings::bind_spudd(module);
    coreplan::bindings::bind_crg(module);
    coreplan::bindings::bind_core_2016(module);
    coreplan::bindings::bind_engine(module);
    coreplan::bindings::bind_policies(module);
    coreplan::bindings::bind_search(module);
    coreplan::bindings::bind_decentralised(module);
    coreplan::bindings::bind_simulation(module);
}
