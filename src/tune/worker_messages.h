// Shared by the device worker and its parent.
#pragma once

#include "base/json.h"
#include "workload/routing.h"

namespace moetune {

Json to_json(const RoutingSpec& routing);
RoutingSpec routing_spec_from_json(const Json& json);

}  // namespace moetune
