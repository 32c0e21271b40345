#include "python_types.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>

namespace plink::control {

namespace nb = nanobind;

namespace {

// More than ranks ever agree on, and a bound where names never come again.
constexpr std::size_t kMostKept = 1 << 17;

/// The classes beside `tree.py`. They are never freed: the interpreter may be gone by then.
struct Classes {
    nb::object tensor, request, announced, answers_held, heard, ticked, done, joined, lost, left,
        send, batch, release, sleep_until, warn, refuse, refuse_here, all_joined, fail_all;
};

const Classes& classes() {
    static const Classes* const loaded = [] {
        const auto requests = nb::module_::import_("plink.training.control.requests");
        const auto events = nb::module_::import_("plink.training.control.events");
        const auto actions = nb::module_::import_("plink.training.control.actions");
        return new Classes{
            requests.attr("Tensor"),    requests.attr("Request"),   events.attr("Announced"),
            events.attr("AnswersHeld"), events.attr("Heard"),       events.attr("Ticked"),
            events.attr("Done"),        events.attr("Joined"),      events.attr("Lost"),
            events.attr("Left"),        actions.attr("Send"),       actions.attr("Batch"),
            actions.attr("Release"),    actions.attr("SleepUntil"), actions.attr("Warn"),
            actions.attr("Refuse"),     actions.attr("RefuseHere"), actions.attr("AllJoined"),
            actions.attr("FailAll")};
    }();
    return *loaded;
}

template <typename Value>
Value attribute(nb::handle object, const char* name) {
    return nb::cast<Value>(object.attr(name));
}

Ranks ranks_of(nb::handle ranks) {
    Ranks::Spans spans;
    for (const nb::handle span : ranks.attr("spans")) {
        spans.emplace_back(nb::cast<std::int64_t>(span[0]), nb::cast<std::int64_t>(span[1]));
    }
    return Ranks(std::move(spans));
}

Tensor tensor_of(nb::handle tensor) {
    const auto name = attribute<std::string>(tensor, "dtype");
    for (std::size_t dtype = 0; dtype < kDTypes.size(); ++dtype) {
        if (kDTypes[dtype].first != name) continue;
        Tensor found{dtype, {}};
        for (const nb::handle size : tensor.attr("shape")) {
            found.shape.push_back(nb::cast<std::int64_t>(size));
        }
        return found;
    }
    throw std::invalid_argument("no tensor is of the type " + name);
}

RequestRef request_of(nb::handle given) {
    auto request = std::make_shared<Request>();
    request->name = attribute<std::string>(given, "name");
    for (const nb::handle tensor : given.attr("tensors")) {
        request->tensors.push_back(tensor_of(tensor));
    }
    for (const nb::handle name : given.attr("members")) {
        request->members.push_back(nb::cast<std::string>(name));
    }
    request->kind = attribute<std::string>(given, "kind");
    request->op = attribute<std::string>(given, "op");
    request->device = attribute<std::string>(given, "device");
    request->prescale = attribute<double>(given, "prescale");
    request->postscale = attribute<double>(given, "postscale");
    request->root = attribute<std::int64_t>(given, "root");
    return request;
}

nb::object text(const std::string& value) { return nb::str(value.data(), value.size()); }

template <typename Items, typename Make>
nb::object tuple_of(const Items& items, const Make& make) {
    nb::list made;
    for (const auto& item : items) made.append(make(item));
    return nb::tuple(made);
}

}  // namespace

Place place_of(nb::handle place) {
    Place found{attribute<std::int64_t>(place, "rank"),
                attribute<std::int64_t>(place, "ranks"),
                attribute<std::optional<std::int64_t>>(place, "parent"),
                {}};
    for (const nb::handle item : place.attr("children").attr("items")()) {
        found.children.emplace_back(nb::cast<std::int64_t>(item[0]), ranks_of(item[1]));
    }
    return found;
}

Settings settings_of(nb::handle settings) {
    return {attribute<std::uint64_t>(settings, "fusion_bytes"),
            attribute<double>(settings, "cycle_s"),
            attribute<double>(settings, "stall_warning_s"),
            attribute<std::optional<double>>(settings, "stall_error_s"),
            attribute<std::uint64_t>(settings, "check_every"),
            attribute<std::uint64_t>(settings, "most_positions"),
            attribute<std::uint64_t>(settings, "cache"),
            attribute<std::uint64_t>(settings, "common_sleep_every"),
            attribute<bool>(settings, "is_blocking")};
}

Event event_of(nb::handle event) {
    const Classes& known = classes();
    const nb::handle type = event.type();
    if (type.is(known.announced)) {
        Announced announced;
        for (const nb::handle request : event.attr("requests")) {
            announced.requests.push_back(request_of(request));
        }
        announced.since_s = attribute<std::optional<double>>(event, "since_s");
        return announced;
    }
    if (type.is(known.heard)) {
        const auto message = attribute<nb::bytes>(event, "message");
        return Heard{attribute<std::int64_t>(event, "rank"),
                     std::string(message.c_str(), message.size())};
    }
    if (type.is(known.answers_held)) return AnswersHeld{attribute<bool>(event, "is_held")};
    if (type.is(known.ticked)) return Ticked{};
    if (type.is(known.done)) return Done{attribute<std::int64_t>(event, "batches")};
    if (type.is(known.joined)) return Joined{};
    if (type.is(known.lost)) return Lost{attribute<std::string>(event, "text")};
    if (type.is(known.left)) {
        return Left{attribute<std::int64_t>(event, "rank"), attribute<std::string>(event, "text")};
    }
    throw std::invalid_argument("a machine is told of events alone");
}

nb::object PythonActions::of(const Action& action) {
    const Classes& known = classes();
    if (const auto* send = std::get_if<Send>(&action)) {
        return known.send(send->rank, nb::bytes(send->message.data(), send->message.size()));
    }
    if (const auto* release = std::get_if<Release>(&action)) {
        return known.release(tuple_of(release->batches, [&](const Batch& batch) {
            return known.batch(
                tuple_of(batch.requests, [&](const RequestRef& request) { return of(request); }),
                batch.joined);
        }));
    }
    if (const auto* sleep = std::get_if<SleepUntil>(&action)) {
        return known.sleep_until(sleep->at_s, sleep->wakes_on_message);
    }
    if (const auto* warn = std::get_if<Warn>(&action)) return known.warn(text(warn->text));
    if (const auto* refuse = std::get_if<Refuse>(&action)) {
        return known.refuse(text(refuse->name), text(refuse->text));
    }
    if (const auto* here = std::get_if<RefuseHere>(&action)) {
        return known.refuse_here(tuple_of(here->names, text), text(here->text));
    }
    if (const auto* joined = std::get_if<AllJoined>(&action)) return known.all_joined(joined->last);
    return known.fail_all(text(std::get<FailAll>(action).text));
}

nb::object PythonActions::of(const RequestRef& request) {
    const auto found = requests_.find(request.get());
    if (found != requests_.end()) return found->second.second;
    const Classes& known = classes();
    const nb::object made = known.request(
        text(request->name),
        tuple_of(request->tensors,
                 [&](const Tensor& tensor) {
                     return known.tensor(
                         text(std::string(kDTypes[tensor.dtype].first)),
                         tuple_of(tensor.shape, [](std::int64_t size) { return nb::int_(size); }));
                 }),
        tuple_of(request->members, text), text(request->kind), text(request->op),
        text(request->device), request->prescale, request->postscale, request->root);
    if (requests_.size() == kMostKept) requests_.clear();
    requests_[request.get()] = {request, made};
    return made;
}

}  // namespace plink::control
