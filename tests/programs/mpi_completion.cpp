// The ways to complete what is under way.
#include <sched.h>

#include <algorithm>

#include "mpi_executor.h"

namespace mercutio::programs {

void MpiExecutor::complete(const Step& step) {
  std::vector<int> requests;
  for (const int id : step.targets) {
    const auto found = under_way_.find(id);
    if (found == under_way_.end()) continue;
    if (found->second.step->synchronism == Synchronism::kSplit) {
      end_split(found->second);
      under_way_.erase(found);
    } else {
      requests.push_back(id);
    }
  }
  if (!requests.empty()) complete_requests(step, std::move(requests));
}

void MpiExecutor::end_split(UnderWay& under_way) {
  const Step& step = *under_way.step;
  void* data = under_way.buffer->origin();
  MPI_Status status{};
  int code = MPI_SUCCESS;
  switch (step.positioning) {
    case Positioning::kExplicit:
      code = step.write ? MPI_File_write_at_all_end(under_way.file, data, &status) : MPI_File_read_at_all_end(under_way.file, data, &status);
      break;
    case Positioning::kIndividual:
      code = step.write ? MPI_File_write_all_end(under_way.file, data, &status) : MPI_File_read_all_end(under_way.file, data, &status);
      break;
    case Positioning::kShared:
      code = step.write ? MPI_File_write_ordered_end(under_way.file, data, &status) : MPI_File_read_ordered_end(under_way.file, data, &status);
      break;
  }
  if (succeeded(code, "the end of a split collective")) finish(under_way, status);
}

void MpiExecutor::finish(UnderWay& under_way, MPI_Status& status) {
  const int here = index_;
  index_ = under_way.index;
  check_status(*under_way.step, *under_way.expected, status, *under_way.buffer);
  index_ = here;
}

void MpiExecutor::complete_requests(const Step& step, std::vector<int> ids) {
  const int n = static_cast<int>(ids.size());
  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses(ids.size());
  std::vector<int> indices(ids.size());
  for (const int id : ids) requests.push_back(under_way_[id].request);
  int left = n, code = MPI_SUCCESS;
  const auto done = [&](int i, MPI_Status& status) {
    finish(under_way_[ids[static_cast<size_t>(i)]], status);
    --left;
  };
  while (left > 0 && code == MPI_SUCCESS) {
    int flag = 0, which = 0, count = 0;
    const int next = static_cast<int>(std::find_if(requests.begin(), requests.end(), [](MPI_Request r) { return r != MPI_REQUEST_NULL; }) - requests.begin());
    if (next == n) break;
    if (left < n || step.completion == Completion::kTestAll) sched_yield();
    switch (step.completion) {
      case Completion::kStatusFirst:
        while (code == MPI_SUCCESS && flag == 0) code = MPI_Request_get_status(requests[static_cast<size_t>(next)], &flag, statuses.data());
        [[fallthrough]];
      case Completion::kWaitEach:
        code = MPI_Wait(&requests[static_cast<size_t>(next)], statuses.data());
        if (code == MPI_SUCCESS) done(next, statuses[0]);
        break;
      case Completion::kTestEach:
        code = MPI_Test(&requests[static_cast<size_t>(next)], &flag, statuses.data());
        if (code == MPI_SUCCESS && flag) done(next, statuses[0]);
        break;
      case Completion::kWaitAny:
        code = MPI_Waitany(n, requests.data(), &which, statuses.data());
        if (code == MPI_SUCCESS) done(which, statuses[0]);
        break;
      case Completion::kTestAny:
        code = MPI_Testany(n, requests.data(), &which, &flag, statuses.data());
        if (code == MPI_SUCCESS && flag && which != MPI_UNDEFINED) done(which, statuses[0]);
        break;
      case Completion::kWaitSome:
      case Completion::kTestSome:
        code = step.completion == Completion::kWaitSome ? MPI_Waitsome(n, requests.data(), &count, indices.data(), statuses.data())
                                                        : MPI_Testsome(n, requests.data(), &count, indices.data(), statuses.data());
        for (int i = 0; code == MPI_SUCCESS && i < count; ++i) done(indices[static_cast<size_t>(i)], statuses[static_cast<size_t>(i)]);
        break;
      case Completion::kTestAll:
      case Completion::kWaitAll:
        flag = 1;
        code = step.completion == Completion::kWaitAll ? MPI_Waitall(n, requests.data(), statuses.data())
                                                       : MPI_Testall(n, requests.data(), &flag, statuses.data());
        for (int i = 0; code == MPI_SUCCESS && flag && i < n; ++i) done(i, statuses[static_cast<size_t>(i)]);
        break;
    }
  }
  if (succeeded(code, "a completion") && left > 0) complain("a request was completed without being told");
  for (const int id : ids) under_way_.erase(id);
}

}  // namespace mercutio::programs
