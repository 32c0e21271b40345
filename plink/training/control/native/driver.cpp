#include "driver.hpp"

#include "attended_driver.hpp"
#include "clocks.hpp"
#include "sleeping_driver.hpp"

namespace plink::control {

Driver::Driver(Machine& machine, std::shared_ptr<transport::Letters> letters)
    : letters_(std::move(letters)), machine_(machine), wakes_s_(kNever) {}

bool Driver::step(const std::vector<Event>& events, double now) {
    std::vector<Action> others;
    for (Action& action : machine_.step(events, now)) {
        if (auto* send = std::get_if<Send>(&action)) {
            letters_->post(static_cast<int>(send->rank), send->message);
        } else if (const auto* sleep = std::get_if<SleepUntil>(&action)) {
            wakes_s_ = sleep->at_s;
            is_asleep_ = !sleep->wakes_on_message;
        } else {
            others.push_back(std::move(action));
        }
    }
    const bool has_wanted = !others.empty();
    outlet_.add(std::move(others));
    return has_wanted;
}

std::vector<Event> events_of(std::vector<transport::Letters::Letter> come) {
    std::vector<Event> events;
    for (auto& letter : come) {
        if (letter.has_left) {
            events.push_back(
                Left{letter.rank, "rank " + std::to_string(letter.rank) + " closed its engine"});
        } else {
            events.push_back(Heard{letter.rank, std::move(letter.bytes)});
        }
    }
    return events;
}

std::unique_ptr<Driver> driver_of(Machine& machine, std::shared_ptr<transport::Letters> letters) {
    if (machine.sleeps()) return std::make_unique<SleepingDriver>(machine, std::move(letters));
    return std::make_unique<AttendedDriver>(machine, std::move(letters));
}

}  // namespace plink::control
